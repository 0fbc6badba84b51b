package filter

// changedSlots has a value for each slot that a trial changed. It keeps the memory of the values after reset.
type changedSlots[T any] struct {
	slots  []int
	values []T
}

// at returns the value of slot i, nil when the slot is not changed. The pointer is valid until the next add.
func (c *changedSlots[T]) at(i int) *T {
	for k, slot := range c.slots {
		if slot == i {
			return &c.values[k]
		}
	}
	return nil
}

// add returns a value for slot i, which has none yet. The caller overwrites the value: it can be a value from before a
// reset. The pointer is valid until the next add.
func (c *changedSlots[T]) add(i int) *T {
	c.slots = append(c.slots, i)
	if n := len(c.slots); n > len(c.values) {
		var zero T
		c.values = append(c.values, zero)
	}
	return &c.values[len(c.slots)-1]
}

func (c *changedSlots[T]) reset() { c.slots = c.slots[:0] }
