//! Every recipe of `docs/recipes.md` works as it says: its Corefile is served by Rhumb and by the real CoreDNS, its
//! `dig` lines are run, and both must print what stands there.
//!
//! The cluster behind it is real and small, the upstreams are servers on loopback. RHUMB_RECIPE=WORDS runs only the
//! recipes with these words in their title.

mod adapt;
mod cluster;
mod document;
mod running;
mod setting;
mod upstreams;

use std::fmt::Write;
use std::time::Instant;

use testkit::Kind;

use document::{Recipe, Step};
use running::{Running, differences};
use setting::Setting;

const DOCUMENT: &str = include_str!("../../../../../docs/recipes.md");

#[test]
fn every_recipe() {
    let recipes = document::read(DOCUMENT).unwrap_or_else(|error| panic!("docs/recipes.md:{error}"));
    let Some(mut setting) = Setting::create() else { return };
    let only = std::env::var("RHUMB_RECIPE").unwrap_or_default();
    let mut failures = String::new();
    let mut asked = 0;
    for recipe in recipes.iter().filter(|recipe| recipe.title.contains(&only)) {
        let began = Instant::now();
        let tried = try_out(recipe, &mut setting).unwrap_or_else(|why| format!("{why}\n"));
        println!("{}: {} questions, {:?}", recipe.title, recipe.questions(), began.elapsed());
        asked += recipe.questions();
        if !tried.is_empty() {
            let _ = write!(failures, "\n== {} (docs/recipes.md:{})\n{tried}", recipe.title, recipe.line);
        }
    }
    println!("{asked} questions");
    assert!(failures.is_empty(), "{failures}");
    assert!(asked > 0, "no title has {only:?} in it");
}

/// Goes through the steps of one recipe on all servers side by side; what was not as it stands in the document.
fn try_out(recipe: &Recipe, setting: &mut Setting) -> Result<String, String> {
    let (servers, mut wrong) = start(recipe, setting);
    for step in &recipe.steps {
        match step {
            Step::Ask(question) => {
                for server in &servers {
                    wrong += &server.ask(question);
                }
            }
            Step::Outage { upstream, lasting } => {
                setting.take_away(upstream)?;
                std::thread::sleep(*lasting);
            }
        }
    }
    for server in servers.iter().filter(|_| !recipe.log.is_empty()) {
        wrong += &differences(server.name(), &recipe.log, &server.logged(recipe.log.len()));
    }
    setting.bring_back()?;
    Ok(wrong)
}

/// CoreDNS too, unless the recipe needs what only Rhumb has. Beside those that started, why others did not.
fn start(recipe: &Recipe, setting: &Setting) -> (Vec<Running>, String) {
    let kinds: &[Kind] = if recipe.ours { &[Kind::Rhumb] } else { &[Kind::CoreDns, Kind::Rhumb] };
    let (mut servers, mut failed) = (Vec::new(), String::new());
    std::thread::scope(|scope| {
        let starting: Vec<_> =
            kinds.iter().map(|&kind| scope.spawn(move || Running::start(kind, recipe, setting))).collect();
        for server in starting {
            match server.join().unwrap_or_else(|_| Err("a panic".to_owned())) {
                Ok(server) => servers.push(server),
                Err(why) => {
                    let _ = writeln!(failed, "{why}");
                }
            }
        }
    });
    (servers, failed)
}
