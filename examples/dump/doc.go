// Package dump reads dumps of a cluster: YAML or JSON documents as `kubectl get nodes,pods,… -A -o yaml` prints them,
// from files, folders and standard input.
//
//	objects, err := dump.Read([]string{"cluster.yaml"}, os.Stdin, dump.Options{})
//	for _, w := range objects.Warnings { fmt.Fprintln(os.Stderr, w) }
//
// Lists are flattened, unknown kinds are counted in a warning, unknown fields are ignored. An object that cannot be what
// it says (a field of the wrong type, a quantity that is no quantity, negative or beyond int64, a kind and name twice) is
// an error that names the file, the document, the field path and the value.
package dump
