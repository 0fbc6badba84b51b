package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file is replaced as a whole; a failure leaves the file and the folder as they were.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	text := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := io.WriteString(w, text)
			return errors.Join(failed, err)
		}
	}
	content := func() string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	require.NoError(t, WriteFile(path, 0o600, text("one", nil)))
	require.NoError(t, WriteFile(path, 0o600, text("two", nil)))
	require.Equal(t, "two", content())
	failure := errors.New("no more")
	require.ErrorIs(t, WriteFile(path, 0o600, text("thr", failure)), failure)
	require.Equal(t, "two", content())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.ErrorIs(t, WriteFile(filepath.Join(dir, "none", "a.txt"), 0o600, text("", nil)), os.ErrNotExist)
	require.NoError(t, WriteText(path, 0o755, "script"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	require.ErrorIs(t, WriteText(dir, 0o600, "a folder"), syscall.EISDIR)
	require.NoError(t, WriteText(os.DevNull, 0o600, "gone"))
	require.ErrorIs(t, WriteFile(os.DevNull, 0o600, text("", failure)), failure)
	info, err = os.Stat(os.DevNull)
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular(), "a device stays a device")
}

// A text that a device does not take is an error.
func TestFullDevice(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("only Linux has this device")
	}
	require.Error(t, WriteText(full, 0o600, "no room"))
}
