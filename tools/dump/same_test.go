package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An object that stands in two files is one object when the files differ in managed fields alone: each writer leaves other ones.
func TestManagedFieldsMakeNoDifference(t *testing.T) {
	file := func(name, manager, zone string) string {
		path := filepath.Join(t.TempDir(), name)
		text := fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: %s}, managedFields: [{manager: %s, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {\"f:metadata\": {}}}]}}\n", zone, manager)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	o, err := Read([]string{file("a.yaml", "kubelet", "a"), file("b.yaml", "kubectl", "a")}, nil, Options{})
	require.NoError(t, err)
	require.Len(t, o.Nodes, 1)
	require.Empty(t, o.Nodes[0].ManagedFields)
	_, err = Read([]string{file("a.yaml", "kubelet", "a"), file("b.yaml", "kubelet", "b")}, nil, Options{})
	require.ErrorContains(t, err, `Duplicate value: "n1"`)
}

// Files that were read are closed, also those with a mistake.
func TestFilesAreClosed(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list the files of a process")
		}
		return len(entries)
	}
	good, bad := filepath.Join(t.TempDir(), "good.yaml"), filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(good, []byte("{apiVersion: v1, kind: Node, metadata: {name: n1}}\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("{apiVersion: v1, kind: Node, metadata: {name: [}}\n"), 0o600))
	before := open()
	for range 50 {
		_, err := Read([]string{good}, nil, Options{})
		require.NoError(t, err)
		_, err = Read([]string{bad}, nil, Options{})
		require.Error(t, err)
		_, err = ReadJSON(good, nil, Options{})
		require.NoError(t, err)
		_, err = ReadJSON(bad, nil, Options{})
		require.Error(t, err)
		_, err = ReadText(good, nil, Options{})
		require.NoError(t, err)
	}
	require.Less(t, open(), before+20)
}
