//! Every seed, and with that every input that once broke something and was kept, passes its check.

use fuzz::campaign::Campaign;
use fuzz::{corpus, targets};

#[test]
fn seeds_pass() {
    for name in targets::NAMES {
        let seeds = corpus::load(&corpus::folder(name)).unwrap();
        let mut target = targets::by_name(name).unwrap();
        let longest = target.max_len();
        let mut campaign = Campaign::new(target.as_mut(), 0);
        for seed in seeds {
            assert!(seed.bytes.len() <= longest, "{} is too long", seed.path.display());
            if let Err(finding) = campaign.seed(&seed.bytes) {
                panic!("{}: {finding}", seed.path.display());
            }
        }
    }
}
