#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::targets::zone_text::check(input));
