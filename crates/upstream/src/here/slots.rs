//! Things with numbers: a number is used again, a key never means another thing.

/// A place in [`Slots`], and which of the things that were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub index: u32,
    turn: u32,
}

pub(super) struct Slots<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

struct Place<T> {
    turn: u32,
    thing: Option<T>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub fn insert(&mut self, thing: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { turn: 0, thing: None });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        place.thing = Some(thing);
        Key { index, turn: place.turn }
    }

    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.turn == key.turn { place.thing.as_mut() } else { None }
    }

    /// The key of what is in a place now.
    pub fn key_at(&self, index: u32) -> Option<Key> {
        let place = self.places.get(index as usize)?;
        place.thing.is_some().then_some(Key { index, turn: place.turn })
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize).filter(|place| place.turn == key.turn)?;
        let thing = place.thing.take()?;
        place.turn = place.turn.wrapping_add(1);
        self.free.push(key.index);
        Some(thing)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|place| place.thing.as_mut())
    }

    pub fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Key> {
        let mut places = self.places.iter().enumerate();
        let found = places.find(|(_, place)| place.thing.as_ref().is_some_and(&is_it));
        found.map(|(index, place)| Key { index: index as u32, turn: place.turn })
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_opens_nothing() {
        let mut slots = Slots::default();
        let (first, second) = (slots.insert('a'), slots.insert('b'));
        assert_eq!((slots.remove(first), slots.remove(first)), (Some('a'), None));
        let third = slots.insert('c');
        assert_eq!(third.index, first.index);
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.get(third), Some(&mut 'c'));
        assert_eq!(slots.key_at(first.index), Some(third));
        assert_eq!(slots.iter_mut().map(|thing| *thing).collect::<String>(), "cb");
        assert_eq!(slots.find(|thing| *thing == 'b'), Some(second));
        assert_eq!((slots.key_at(9), slots.len()), (None, 2));
    }
}
