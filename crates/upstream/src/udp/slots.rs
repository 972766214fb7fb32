//! A generational slot map: an index is reused, a key is not.

/// An index in [`Slots`], and the generation of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub index: u32,
    generation: u32,
}

pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub fn insert(&mut self, value: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, value: None });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.value = Some(value);
        Key { index, generation: slot.generation }
    }

    pub fn get(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation == key.generation { slot.value.as_mut() } else { None }
    }

    /// The key of the current value at an index.
    pub fn key_at(&self, index: u32) -> Option<Key> {
        let slot = self.slots.get(index as usize)?;
        slot.value.is_some().then_some(Key { index, generation: slot.generation })
    }

    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(value)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    pub fn find(&self, matches: impl Fn(&T) -> bool) -> Option<Key> {
        let mut slots = self.slots.iter().enumerate();
        let found = slots.find(|(_, slot)| slot.value.as_ref().is_some_and(&matches));
        found.map(|(index, slot)| Key { index: index as u32, generation: slot.generation })
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut slots = Slots::default();
        let (first, second) = (slots.insert('a'), slots.insert('b'));
        assert_eq!((slots.remove(first), slots.remove(first)), (Some('a'), None));
        let third = slots.insert('c');
        assert_eq!(third.index, first.index);
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.get(third), Some(&mut 'c'));
        assert_eq!(slots.key_at(first.index), Some(third));
        assert_eq!(slots.iter_mut().map(|value| *value).collect::<String>(), "cb");
        assert_eq!(slots.find(|value| *value == 'b'), Some(second));
        assert_eq!((slots.key_at(9), slots.len()), (None, 2));
    }
}
