//! Answers hold until the file is read again and says something else.

use server::{Again, Lasting, Repeating, Sent};

use super::Hosts;

impl Repeating for Hosts {
    fn lasting(&self, sent: &mut Sent<'_>) -> Lasting {
        match sent.slot().words[0] {
            // Not a name of its zones.
            0 => Lasting::Always,
            number => Lasting::While([number, 0]),
        }
    }

    fn holds(&self, [number, _]: [u64; 2], _: &mut Again<'_>) -> bool {
        self.file.reading().number == number
    }
}
