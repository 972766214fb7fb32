//! Unusual names, and names near existing ones.

use crate::name::Name;
use crate::random::Random;

/// An unusual name: at a size limit, binary, or with special characters.
pub(super) fn any(random: &mut Random) -> Name {
    match random.below(12) {
        0 => Name::root(),
        1 => single(random),
        2 => {
            let labels: Vec<_> = (0..random.between(1, 4))
                .map(|_| {
                    let n = random.between(1, 12);
                    random.bytes(n)
                })
                .collect();
            of(&labels)
        }
        // Characters that presentation format escapes, or that look like syntax.
        3 => of(&[br#"a.b"c;d\e f"#.to_vec(), b"(x)@$".to_vec(), b"org".to_vec()]),
        4 => of(&[b"*".to_vec(), b"example".to_vec(), b"org".to_vec()]),
        5 => of(&[b"\0".to_vec(), vec![0xff; 3], b"\xc3\xa4".to_vec()]),
        6 => longest(random),
        // 127 labels of one octet: the most that fit.
        7 => of(&vec![b"x".to_vec(); 127]),
        8 => of(&[vec![b'l'; 63], b"example".to_vec(), b"org".to_vec()]),
        9 => of(&[b"-a-".to_vec(), b"_".to_vec(), b"xn--bcher-kva".to_vec()]),
        10 => of(&[b"version".to_vec(), b"bind".to_vec()]),
        _ => {
            let depth = random.between(2, 20);
            of(&(0..depth).map(|_| label(random)).collect::<Vec<_>>())
        }
    }
}

/// A name one label away: below, above, beside, or a wildcard below. Stays within 255 octets.
pub(super) fn near(random: &mut Random, name: &Name) -> Name {
    let mut labels: Vec<Vec<u8>> = name.labels().map(<[u8]>::to_vec).collect();
    match random.below(6) {
        0 | 1 => labels.insert(0, label(random)),
        2 if !labels.is_empty() => drop(labels.remove(0)),
        3 if !labels.is_empty() => labels[0] = label(random),
        4 => labels.insert(0, b"*".to_vec()),
        5 if labels.len() > 1 => {
            let at = random.below(labels.len());
            labels[at] = label(random);
        }
        _ => labels.splice(0..0, [label(random), label(random)]).for_each(drop),
    }
    let near = of(&labels);
    if near.wire().len() > 255 { name.clone() } else { near }
}

/// 0x20 mixing: each letter in random case.
pub(super) fn mixed_case(random: &mut Random, name: &Name) -> Name {
    let labels: Vec<Vec<u8>> = name
        .labels()
        .map(|l| {
            l.iter()
                .map(|b| if b.is_ascii_alphabetic() && random.chance(0.5) { b ^ 0x20 } else { *b })
                .collect()
        })
        .collect();
    of(&labels)
}

fn longest(random: &mut Random) -> Name {
    // 63 + 63 + 63 + 61 octets with their four lengths and the root make 255.
    let labels: Vec<Vec<u8>> =
        [63, 63, 63, 61].into_iter().map(|n| (0..n).map(|_| letter(random)).collect()).collect();
    of(&labels)
}

fn single(random: &mut Random) -> Name {
    of(&[random.pick(&["localhost", "com", "kubernetes", "x", "local"]).as_bytes().to_vec()])
}

fn label(random: &mut Random) -> Vec<u8> {
    const WORDS: [&str; 8] = ["www", "_tcp", "a", "nosuch", "10-0-0-1", "_http", "svc", "0"];
    if random.chance(0.5) {
        return random.pick(&WORDS).as_bytes().to_vec();
    }
    (0..random.between(1, 8)).map(|_| letter(random)).collect()
}

fn letter(random: &mut Random) -> u8 {
    *random.pick(b"abcdefghijklmnopqrstuvwxyz0123456789-")
}

fn of(labels: &[Vec<u8>]) -> Name {
    Name::from_labels(labels.iter().map(Vec::as_slice))
}
