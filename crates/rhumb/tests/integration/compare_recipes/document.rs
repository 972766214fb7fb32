//! Parses the document.
//!
//! A recipe is a `##` heading with a `corefile` fence below it. Queries are in a `console` fence: a line that starts
//! with `$` is a command, the following lines are its output. A line `# ADDRESS is down, 6 seconds later` is an event.
//! A `log` fence has the lines of the query log, in which `…` stands for any varying text.

use std::time::Duration;

pub struct Recipe {
    pub title: String,
    /// The line of the heading.
    pub line: usize,
    /// Whether it needs options that only Rhumb has.
    pub ours: bool,
    pub corefile: String,
    pub steps: Vec<Step>,
    pub log: Vec<String>,
}

pub enum Step {
    Ask(Question),
    Outage { upstream: String, lasting: Duration },
}

pub struct Question {
    pub line: usize,
    pub command: String,
    pub printed: Vec<String>,
}

impl Recipe {
    pub fn questions(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Ask(_))).count()
    }
}

/// The end of headings whose options CoreDNS lacks.
const OURS: &str = "(Rhumb only)";

/// All recipes, or an error with its line.
pub fn read(document: &str) -> Result<Vec<Recipe>, String> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(document.lines()) {
        let wrong = |what: &str| Err(format!("{number}: {what}"));
        if let Some(language) = line.strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(language),
            };
            let recipe = recipes.last();
            match (fence, recipe) {
                (Some("corefile"), Some(recipe)) if !recipe.corefile.is_empty() => {
                    return wrong("a second Corefile");
                }
                (Some("console" | "log"), Some(recipe)) if recipe.corefile.is_empty() => {
                    return wrong("no Corefile is there yet");
                }
                (Some("corefile" | "console" | "log"), Some(_)) | (None, _) => {}
                (Some(_), _) => return wrong("a fence that is no part of a recipe"),
            }
            continue;
        }
        match (fence, recipes.last_mut()) {
            (None, _) => {
                if let Some(title) = line.strip_prefix("## ") {
                    recipes.push(heading(title, number));
                }
            }
            (Some("corefile"), Some(recipe)) => {
                recipe.corefile.push_str(line);
                recipe.corefile.push('\n');
            }
            (Some("console"), Some(recipe)) => console(recipe, line, number)?,
            (Some("log"), Some(recipe)) => recipe.log.push(line.to_owned()),
            (Some(_), _) => {}
        }
    }
    if fence.is_some() {
        return Err("a fence is left open at the end".to_owned());
    }
    // Sections without a Corefile are not recipes.
    recipes.retain(|recipe| !recipe.corefile.is_empty());
    if let Some(silent) = recipes.iter().find(|recipe| recipe.questions() == 0) {
        return Err(format!("{}: {} asks nothing", silent.line, silent.title));
    }
    if recipes.is_empty() { Err("no recipes".to_owned()) } else { Ok(recipes) }
}

fn heading(title: &str, line: usize) -> Recipe {
    let ours = title.ends_with(OURS);
    Recipe {
        title: title.to_owned(),
        line,
        ours,
        corefile: String::new(),
        steps: Vec::new(),
        log: Vec::new(),
    }
}

fn console(recipe: &mut Recipe, line: &str, number: usize) -> Result<(), String> {
    if let Some(command) = line.strip_prefix("$ ") {
        if !command.starts_with("dig ") {
            return Err(format!("{number}: only dig can be tried out"));
        }
        let question = Question { line: number, command: command.to_owned(), printed: Vec::new() };
        recipe.steps.push(Step::Ask(question));
    } else if let Some(event) = line.strip_prefix("# ") {
        let outage = outage(event).ok_or_else(|| format!("{number}: nothing that can be made happen"))?;
        recipe.steps.push(outage);
    } else if let Some(Step::Ask(question)) = recipe.steps.last_mut() {
        question.printed.push(line.to_owned());
    } else {
        return Err(format!("{number}: printed by nothing"));
    }
    Ok(())
}

/// `ADDRESS is down, N seconds later`
fn outage(event: &str) -> Option<Step> {
    let (upstream, rest) = event.split_once(" is down, ")?;
    let (seconds, "second later" | "seconds later") = rest.split_once(' ')? else { return None };
    let seconds = seconds.parse().ok()?;
    Some(Step::Outage { upstream: upstream.to_owned(), lasting: Duration::from_secs(seconds) })
}

#[test]
fn parses_recipes() {
    let fences = "```corefile\n. {\n}\n```\ntext\n```console\n$ dig a\n192.0.2.1\n$ dig b\n```\n";
    let recipes =
        read(&format!("# All\n## One\n{fences}## Read this\n## Two (Rhumb only)\n{fences}")).unwrap();
    let shapes: Vec<_> =
        recipes.iter().map(|r| (r.line, r.ours, r.corefile.as_str(), r.questions())).collect();
    assert_eq!(shapes, [(2, false, ". {\n}\n", 2), (14, true, ". {\n}\n", 2)]);

    for (document, error) in [
        ("", "no recipes"),
        ("```corefile\n```\n", "1: a fence that is no part of a recipe"),
        ("## One\n```corefile\n.\n```\n", "1: One asks nothing"),
        ("## One\n```corefile\n.\n```\n```corefile\n```\n", "5: a second Corefile"),
        ("## One\n```console\n$ dig a\n```\n", "2: no Corefile is there yet"),
        ("## One\n```corefile\n.\n```\n```console\n1\n", "6: printed by nothing"),
        ("## One\n```corefile\n.\n```\n```console\n$ date\n", "6: only dig can be tried out"),
        ("## One\n```corefile\n.\n```\n```console\n# rain\n", "6: nothing that can be made happen"),
        ("## One\n```corefile\n.\n", "a fence is left open at the end"),
        ("## One\n```corefil\n.\n```\n", "2: a fence that is no part of a recipe"),
    ] {
        assert_eq!(read(document).err().as_deref(), Some(error), "{document:?}");
    }
}
