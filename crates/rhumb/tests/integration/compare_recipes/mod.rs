//! Every recipe of `docs/recipes.md` works as documented: Rhumb and the real CoreDNS serve its Corefile, its `dig` lines
//! are run, and both must print the documented output.
//!
//! The cluster behind it is real and small, the upstreams are servers on loopback. RHUMB_RECIPE=WORDS runs only the
//! recipes with these words in their title.

mod adapt;
mod cluster;
mod document;
mod environment;
mod running;
mod upstreams;

use std::fmt::Write;
use std::time::Instant;

use testkit::Kind;

use document::{Recipe, Step};
use environment::Environment;
use running::{Running, differences};

const DOCUMENT: &str = include_str!("../../../../../docs/recipes.md");

#[test]
fn every_recipe() {
    let recipes = document::read(DOCUMENT).unwrap_or_else(|error| panic!("docs/recipes.md:{error}"));
    let Some(mut environment) = Environment::create() else { return };
    let only = std::env::var("RHUMB_RECIPE").unwrap_or_default();
    let mut failures = String::new();
    let mut asked = 0;
    for recipe in recipes.iter().filter(|recipe| recipe.title.contains(&only)) {
        let began = Instant::now();
        let tried = run_recipe(recipe, &mut environment).unwrap_or_else(|why| format!("{why}\n"));
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

/// Runs the steps of one recipe on all servers; returns the differences from the document.
fn run_recipe(recipe: &Recipe, environment: &mut Environment) -> Result<String, String> {
    let (servers, mut wrong) = start(recipe, environment);
    for step in &recipe.steps {
        match step {
            Step::Ask(question) => {
                for server in &servers {
                    wrong += &server.ask(question);
                }
            }
            Step::Outage { upstream, lasting } => {
                environment.stop_upstream(upstream)?;
                std::thread::sleep(*lasting);
            }
        }
    }
    for server in servers.iter().filter(|_| !recipe.log.is_empty()) {
        wrong += &differences(server.name(), &recipe.log, &server.logged(recipe.log.len()));
    }
    environment.restart_upstreams()?;
    Ok(wrong)
}

/// Starts Rhumb, and CoreDNS unless the recipe needs Rhumb; returns the running servers and the errors.
fn start(recipe: &Recipe, environment: &Environment) -> (Vec<Running>, String) {
    let kinds: &[Kind] = if recipe.ours { &[Kind::Rhumb] } else { &[Kind::CoreDns, Kind::Rhumb] };
    let (mut servers, mut failed) = (Vec::new(), String::new());
    std::thread::scope(|scope| {
        let starting: Vec<_> = kinds
            .iter()
            .map(|&kind| scope.spawn(move || Running::start(kind, recipe, environment)))
            .collect();
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
