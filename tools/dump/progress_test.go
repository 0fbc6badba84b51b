package dump

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Progress hears how much of a file is read, of how much, and the end. Of standard input nobody knows how much there is; of a packed
// file the bytes are those of the file.
func TestReadProgress(t *testing.T) {
	var text strings.Builder
	for range 2000 {
		text.WriteString("---\n# a comment that makes the file longer than one portion\n")
	}
	text.WriteString("{apiVersion: v1, kind: Node, metadata: {name: n1}}\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(text.String()))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	dir := t.TempDir()
	for name, data := range map[string][]byte{"a.yaml": []byte(text.String()), "a.yaml.gz": packed.Bytes(), "-": []byte(text.String())} {
		path, size := "-", int64(0)
		if name != "-" {
			path, size = filepath.Join(dir, name), int64(len(data))
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		var last [2]int64
		calls := 0
		_, err := Read([]string{path}, bytes.NewReader(data), Options{Progress: func(done, total int64) {
			require.GreaterOrEqual(t, done, last[0], name)
			if done < int64(len(data)) {
				require.Equal(t, size, total, name)
			}
			last = [2]int64{done, total}
			calls++
		}})
		require.NoError(t, err)
		require.Equal(t, [2]int64{int64(len(data)), int64(len(data))}, last, name)
		require.Positive(t, calls)
	}
}
