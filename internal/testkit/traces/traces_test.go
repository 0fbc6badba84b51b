package traces

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	t.Setenv(Variable, "")
	_, err := Read("openb")
	require.ErrorIs(t, err, ErrNone)

	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	folder := t.TempDir()
	t.Setenv(Variable, folder)
	_, err = Read("openb")
	require.ErrorContains(t, err, "trace2yaml.py [openb]: exit status 2", "the folder has no script")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "trace2yaml.py"), []byte("import sys\nprint(sys.argv[1:])"), 0o600))
	require.Equal(t, "['openb', '--nodes', '3']\n", string(Text(t, "openb", "--nodes", "3")))
}
