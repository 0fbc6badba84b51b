package view

type domains interface {
	// Domains gives each slot the number of the node's value of a label, -1 for a free slot and for a node without the
	// label. domains is the number of values, have the number of nodes with the label.
	Domains(key string) (ids []int32, domains, have int)
}

// Domains returns the domain of each slot for a topology key: the number of the node's value of the label key, -1 for a
// free slot and for a node without the label. All numbers are below count, and have is the number of nodes with the
// label. The numbers are the cluster's own when it has them; otherwise they count up in slot order, in O(nodes). The caller
// must not modify the slice.
func Domains(c Nodes, key string) (ids []int32, count, have int) {
	if d, ok := c.(domains); ok {
		return d.Domains(key)
	}
	ids = make([]int32, c.Len())
	numbers := map[string]int32{}
	for i := range ids {
		ids[i] = -1
		node := c.Node(i)
		if node == nil {
			continue
		}
		value, ok := node.Labels[key]
		if !ok {
			continue
		}
		number, known := numbers[value]
		if !known {
			number = int32(len(numbers))
			numbers[value] = number
		}
		ids[i] = number
		have++
	}
	return ids, len(numbers), have
}
