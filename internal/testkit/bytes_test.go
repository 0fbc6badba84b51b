package testkit

import (
	"io/fs"
	oldrand "math/rand"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	b := NewBytes([]byte{7, 255, 3, 1})
	require.Equal(t, 2, b.Below(5))
	require.Equal(t, byte(255), b.Next())
	require.True(t, b.OneIn(4))
	require.Equal(t, "b", Pick(b, "a", "b", "c"))
	require.Equal(t, "a", Pick(b, "a", "b", "c"), "0 after the last byte")
	require.False(t, b.OneIn(2))
	require.True(t, b.OneIn(1))
	require.Panics(t, func() { b.Below(0) })
	require.Panics(t, func() { b.Below(257) })
	require.Equal(t, RandomBytes(3, 20), RandomBytes(3, 20))
	require.NotEqual(t, RandomBytes(3, 20), RandomBytes(4, 20))
}

// A rand.Rand over bytes takes one byte for each number, reaches every number, and ends after the last byte.
func TestBytesAsSource(t *testing.T) {
	for _, n := range []int{2, 3, 8, 20, 100, 256} {
		seen := [2]map[int]bool{{}, {}}
		for k := range 256 {
			seen[0][oldrand.New(NewBytes([]byte{byte(k)})).Intn(n)] = true
			seen[1][rand.New(NewBytes([]byte{byte(k)})).IntN(n)] = true
		}
		require.Len(t, seen[0], n)
		require.Len(t, seen[1], n)
	}
	b := NewBytes([]byte{1, 2, 3})
	rand.New(b).IntN(7)
	oldrand.New(b).Intn(7)
	require.Equal(t, byte(3), b.Next())
	oldrand.New(b).Perm(100)
	rand.New(b).Perm(100)
	rand.New(b).Shuffle(100, func(int, int) {})
}

// Fuzz targets take bytes or text. With a seed, a small change of the input would be another case altogether.
func TestFuzzTargetsTakeNoSeed(t *testing.T) {
	seeded, targets := regexp.MustCompile(`\.Fuzz\(func\(\w+ \*testing\.T, \w+ u?int(64)?\b`), 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		targets += strings.Count(string(text), "f.Fuzz(")
		require.NotRegexp(t, seeded, string(text), path)
		return err
	}))
	require.Greater(t, targets, 30)
}
