package resources

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Columns that every [Schema] has. Column 2 is ephemeral-storage in bytes. Scalars is the first column of interned names.
const (
	CPU       = iota // thousandths of a core
	Memory           // bytes
	ephemeral        // bytes of ephemeral-storage
	Pods             // number of pods
	Scalars
)

var fixed = [Scalars]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods}

// Schema gives each resource name a column. The zero value is ready to use and has the fixed columns only. Interning never
// moves a column. A Schema must not be copied by value; use Clone.
type Schema struct {
	names   []v1.ResourceName // of the columns from Scalars on
	columns map[v1.ResourceName]int
}

// Len returns the number of columns, the fixed ones included.
func (s *Schema) Len() int { return Scalars + len(s.names) }

// Name returns the resource of column c. It panics when c is not in 0..Len()-1.
func (s *Schema) Name(c int) v1.ResourceName {
	if c < Scalars {
		return fixed[c]
	}
	return s.names[c-Scalars]
}

// Column returns the column of name, and false when the schema has no such column. It does not change the schema.
func (s *Schema) Column(name v1.ResourceName) (int, bool) {
	switch name {
	case v1.ResourceCPU:
		return CPU, true
	case v1.ResourceMemory:
		return Memory, true
	case v1.ResourceEphemeralStorage:
		return ephemeral, true
	case v1.ResourcePods:
		return Pods, true
	}
	c, ok := s.columns[name]
	return c, ok
}

// Intern returns the column of name. When the schema has no such column, Intern adds one at the end. It is not safe for
// concurrent use with any other call on the schema.
func (s *Schema) Intern(name v1.ResourceName) int {
	if c, ok := s.Column(name); ok {
		return c
	}
	if s.columns == nil {
		s.columns = map[v1.ResourceName]int{}
	}
	c := s.Len()
	s.columns[name] = c
	s.names = append(s.names, name)
	return c
}

// Clone returns an independent schema with the same columns. O(columns).
func (s *Schema) Clone() *Schema {
	c := &Schema{names: slices.Clone(s.names), columns: make(map[v1.ResourceName]int, len(s.columns))}
	for i, name := range c.names {
		c.columns[name] = Scalars + i
	}
	return c
}
