package near

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestDistance(t *testing.T) {
	type test struct {
		name, why string
		a, b      string
		want      int
	}
	testkit.Run(t, []test{
		{"equal", "nothing changes", "zone", "zone", 0},
		{"empty", "every letter is added", "", "zone", 4},
		{"letter missing", "one is added", "zne", "zone", 1},
		{"letter too many", "one is taken out", "zonee", "zone", 1},
		{"another letter", "one is replaced", "zane", "zone", 1},
		{"two letters in the other order", "two are replaced", "znoe", "zone", 2},
		{"nothing in common", "the longer name decides", "ab", "cdef", 4},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, Distance(c.a, c.b))
		require.Equal(t, c.want, Distance(c.b, c.a), "both ways")
	})
}

// Names that are spelled alike, or are the same behind the slash, are suggested: at most three, sorted, each once.
func TestNames(t *testing.T) {
	type test struct {
		name, why string
		wrong     string
		names     []string
		want      []string
	}
	testkit.Run(t, []test{
		{"nothing", "there is no name", "zone", nil, nil},
		{"an empty name", "it looks like no name", "zone", []string{""}, nil},
		{"itself", "the wrong name is not suggested", "zone", []string{"zone"}, nil},
		{"few changes", "4 letters bear one change, 5 bear two", "zones", []string{"zone", "zoned", "zo", "hosts"}, []string{"zone", "zoned"}},
		{"domain missing", "the part behind the slash is the wrong name", "zone", []string{"topology.kubernetes.io/zone"}, []string{"topology.kubernetes.io/zone"}},
		{"domain too much", "the name is the part behind the slash of the wrong name", "example.com/pool", []string{"pool"}, []string{"pool"}},
		{"other domain", "both are the same behind the slash", "a.example/pool", []string{"b.test/pool"}, []string{"b.test/pool"}},
		{"a slash does not suffice", "the parts behind the slashes differ", "a.example/pool", []string{"longer.test/disk", "rack"}, nil},
		{"the name has a slash too", "the wrong name has none, the parts differ", "zone", []string{"topology.kubernetes.io/region"}, nil},
		{"a name without a tail", "an empty part behind the slash is no wrong name", "", []string{"disk"}, nil},
		{"nothing behind the slash", "the wrong name has no tail, the name no slash", "example.com/", []string{"disk"}, nil},
		{"nothing behind the slash of the name", "the name has no tail, the wrong name no slash", "disk", []string{"example.com/"}, nil},
		{"10 letters", "they bear three changes", "abcdefghij", []string{"abcdefg"}, []string{"abcdefg"}},
		{"14 letters", "they bear three changes, not four", "abcdefghijklmn", []string{"abcdefghijk", "abcdefghij"}, []string{"abcdefghijk"}},
		{"more than once", "a name that comes twice is suggested once", "n5", []string{"n4", "n4"}, []string{"n4"}},
		{"the wrong name decides", "4 letters bear one change, though the other name has 5", "zone", []string{"zonexy", "zones"}, []string{"zones"}},
		{"at most three", "sorted, each once", "n5", []string{"n4", "n3", "n3", "n2", "n1"}, []string{"n1", "n2", "n3"}},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, Names(c.wrong, c.names))
	})
}
