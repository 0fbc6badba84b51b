package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A second PriorityClass with globalDefault is an error that names its line, also where only one namespace is shown, for a class is in
// none. Several default StorageClasses are a note.
func TestSecondDefaults(t *testing.T) {
	const silver = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: silver}, value: 10, globalDefault: true}"
	const gold = "\n---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: gold}, value: 20, globalDefault: true}"
	const storage = "\n---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: example.com/disk, metadata: {name: gp2, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}}" +
		"\n---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: example.com/disk, metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}}"
	for _, args := range [][]string{{"-f", "-"}, {"-f", "-", "-n", "prod"}} {
		code, out, errs := linting(silver+gold, args...)
		require.Equal(t, 1, code, errs)
		require.Equal(t, `error: PriorityClass gold: priority-default-second: globalDefault
  the API server refuses it: PriorityClass silver is already marked as default. Only one default can exist
  fix: globalDefault in one class alone
1 error, 0 warnings, 0 notes
`, out)
	}
	code, out, errs := linting(silver+storage, "-f", "-")
	require.Zero(t, code, errs)
	require.Equal(t, `info: StorageClass gp3: storage-default-second: metadata.annotations
  also the default: gp2; a claim without a class gets the newest, which is gp2
  fix: the annotation in one class alone
0 errors, 0 warnings, 1 note
`, out)
}
