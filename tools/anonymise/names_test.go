package anonymise

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// anonymised returns the new objects of a dump, a line each, and the names.
func anonymised(t *testing.T, input string) (objects, names string) {
	t.Helper()
	o, err := dump.Read([]string{"-"}, strings.NewReader(input), dump.Options{})
	require.NoError(t, err)
	list, n, err := Objects(o, nil)
	require.NoError(t, err)
	var out strings.Builder
	for _, x := range list {
		require.NoError(t, json.NewEncoder(&out).Encode(x))
	}
	data, err := json.MarshalIndent(n, "", " ")
	require.NoError(t, err)
	return out.String(), fmt.Sprintf("%s\nunlike: %q\n", data, n.Unlike)
}

// The names of a dump with names that stay and names that are misspelled, and its objects.
func TestNames(t *testing.T) {
	input, err := os.ReadFile("testdata/names.yaml")
	require.NoError(t, err)
	objects, names := anonymised(t, string(input))
	_, alike := anonymised(t, misspelled())
	// The wrong key is like three others, two of which are like a fourth; so are two wrong values.
	_, unlike := anonymised(t, labelled("n1", "pool: abc, poolabcd: a", "t")+labelled("n2", "pool: abcdef, poolabcd: a", "t")+
		pod("a", "nodeSelector: {poolab: a}")+pod("b", "nodeSelector: {pol: a}")+pod("c", "nodeSelector: {pool: abcde}")+pod("d", "nodeSelector: {pool: ab}")+pod("e", "priorityClassName: none"))
	testkit.Golden(t, "testdata/names.txt", objects+names+alike+unlike)
}

// A third of the work is done when the objects are read, a third when their names are known.
func TestProgress(t *testing.T) {
	o, err := dump.Read([]string{"-"}, strings.NewReader(pod("a", "")+pod("b", "")), dump.Options{})
	require.NoError(t, err)
	var heard [][2]int
	_, _, err = Objects(o, func(done, total int) { heard = append(heard, [2]int{done, total}) })
	require.NoError(t, err)
	require.Equal(t, [][2]int{{1, 6}, {2, 6}, {3, 6}, {4, 6}, {5, 6}, {6, 6}}, heard)
}

// There are 26 times 26 codes. Each differs from all others in as many letters as each stands for.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for k := range 26 * 26 {
		c := code(k)
		require.Equal(t, "-"+strings.Repeat(c[1:2], 12)+strings.Repeat(c[13:14], 12), c)
		require.Regexp(t, "^-[a-z]+$", c)
		require.False(t, seen[c], c)
		seen[c] = true
	}
	require.Equal(t, code(0), code(26*26))
}
