package testkit

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hashes are FNV's. With -answers the text stands in a file too, and a second run writes it again.
func TestHash(t *testing.T) {
	dir := t.TempDir()
	defer func(before string) { *answers = before }(*answers)
	for _, *answers = range []string{"", dir, dir} {
		h32, h64, small, large := Hash32(t, 32), Hash64(t, "64"), fnv.New32a(), fnv.New64a()
		for _, text := range []string{"one\n", "two\n"} {
			fmt.Fprint(h32, text)
			fmt.Fprint(h64, text)
			fmt.Fprint(small, text)
			fmt.Fprint(large, text)
		}
		require.Equal(t, small.Sum32(), h32.Sum32())
		require.Equal(t, large.Sum64(), h64.Sum64())
	}
	for _, name := range []string{"32.txt", "64.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, "TestHash", name))
		require.NoError(t, err)
		require.Equal(t, "one\ntwo\n", string(text))
	}
}
