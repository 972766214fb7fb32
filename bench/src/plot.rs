//! Results as an SVG: bars of user and system time per query, one per server and load.

use std::fmt::Write;

use crate::contender::Kind;
use crate::load::Load;
use crate::results::{Outcome, Results, Row};

const WIDTH: f64 = 760.0;
/// Start of the bars, after the servers' names.
const LEFT: f64 = 90.0;
/// Length of the longest bar; its numbers follow.
const LONGEST: f64 = 430.0;
const LINE: f64 = 22.0;
const BAR: f64 = 14.0;

/// Follows the browser's colour scheme.
const STYLE: &str = "\
svg { color-scheme: light dark; }
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.load { font-weight: 600; }
.quiet { fill: #59636e; font-size: 11px; }
.ground { fill: #ffffff; }
.user { fill: #0969da; }
.system { fill: #9ec9f5; }
.ours { font-weight: 700; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .quiet { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .user { fill: #58a6ff; }
  .system { fill: #29486b; }
}
";

/// A whole file.
pub fn svg(results: &Results) -> String {
    let mut page = Page::default();
    page.legend();
    for outcome in &results.outcomes {
        page.outcome(outcome);
    }
    page.machine(results);
    page.finish()
}

/// The SVG so far, and the current vertical position.
#[derive(Default)]
struct Page {
    shapes: String,
    y: f64,
}

impl Page {
    fn legend(&mut self) {
        self.y += LINE;
        let (text, top) = (self.y, self.y - BAR + 2.0);
        let mut x = 10.0;
        for (class, meaning) in [("user", "user time"), ("system", "system time")] {
            let _ = writeln!(
                self.shapes,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{top:.1}\" width=\"{BAR}\" height=\"{BAR}\"/>\n\
                 <text x=\"{}\" y=\"{text:.1}\">{meaning}</text>",
                x + BAR + 6.0,
            );
            x += 110.0;
        }
        let what = "per query, in microseconds; less is better";
        let _ = writeln!(self.shapes, "<text class=\"quiet\" x=\"{x}\" y=\"{text:.1}\">{what}</text>");
        self.y += LINE / 2.0;
    }

    fn outcome(&mut self, outcome: &Outcome) {
        self.line(LINE, 10.0, "title", outcome.workload);
        self.line(18.0, 10.0, "quiet", outcome.about);
        let most = outcome.rows.iter().map(|row| row.total.median).fold(f64::MIN_POSITIVE, f64::max);
        let mut load: Option<Load> = None;
        for row in &outcome.rows {
            if load != Some(row.load) {
                load = Some(row.load);
                self.line(LINE + 6.0, 10.0, "load", &format!("at {}", row.load));
            }
            self.bar(row, LONGEST / most);
        }
        self.y += LINE;
    }

    fn bar(&mut self, row: &Row, scale: f64) {
        self.y += LINE;
        let (user, system) = (row.user.median * scale, row.system.median * scale);
        let top = self.y - BAR + 2.0;
        let class = if row.server == Kind::Rhumb { "ours" } else { "" };
        let y = self.y;
        let numbers = format!(
            "{:.2} us = {:.2} user + {:.2} system",
            row.total.median, row.user.median, row.system.median
        );
        // Writing to a String does not fail.
        let _ = writeln!(
            self.shapes,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>\n\
             <rect class=\"user\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{user:.1}\" height=\"{BAR}\"/>\n\
             <rect class=\"system\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{system:.1}\" height=\"{BAR}\"/>\n\
             <text class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\">{numbers}</text>",
            LEFT - 8.0,
            row.server.name(),
            LEFT + user,
            LEFT + user + system + 8.0,
        );
    }

    /// The machine and the plan.
    fn machine(&mut self, results: &Results) {
        let rounds = format!("median of {} rounds of {} s", results.plan.rounds, results.plan.seconds);
        self.line(16.0, 10.0, "quiet", &rounds);
        for (what, value) in &results.machine.facts {
            self.line(16.0, 10.0, "quiet", &format!("{what}: {value}"));
        }
    }

    fn line(&mut self, height: f64, x: f64, class: &str, text: &str) {
        self.y += height;
        let (y, text) = (self.y, escaped(text));
        let _ = writeln!(self.shapes, "<text class=\"{class}\" x=\"{x}\" y=\"{y:.1}\">{text}</text>");
    }

    fn finish(self) -> String {
        let height = self.y + LINE;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"CPU time per query\">\n<style>\n{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.shapes
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_for_each_server_under_each_load() {
        let svg = svg(&Results::example());
        // Those of the legend, too.
        assert_eq!(svg.matches("class=\"user\"").count(), 5);
        assert_eq!(svg.matches("class=\"system\"").count(), 5);
        // CoreDNS under the fixed load is the longest: ten of twenty microseconds each.
        assert_eq!(svg.matches("width=\"215.0\"").count(), 2);
        for text in ["at 500 queries/s", "at saturation", "8.00 us = 1.50 user + 6.50 system", "cpu: some"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(svg.contains("this &amp; &lt;that&gt;") && !svg.contains("<that>"));
    }
}
