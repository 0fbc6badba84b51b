package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// said are packages whose texts kube-scheduler says too.
var said = []string{"filter", "volumes", "taints", "affinity", "spread", "preemption"}

// beginnings are the first words of the texts that give the reason why a node cannot take a pod, or why preemption found no
// victims.
var beginnings = []string{
	"node(s) ", "Too many pods", "Insufficient ", "pod affinity", "pod has unbound", "persistentvolume", "PersistentVolume",
	"storageclass", "waiting for", "looking up PVC", "not eligible", "No preemption", "Preemption is", "no new claims", "not found",
	"no nodes available", "no candidate node", "expected at least", "could not translate pv", "converting volume(",
}

// unsaid are texts that kube-scheduler never prints with its own plugins, each with the reason.
var unsaid = map[string]string{
	"node(s) had taints that the pod didn't tolerate": "the kubelet's",
	"node(s) didn't satisfy plugin ":                  "only one plugin narrows the nodes, and says itself when none is left",
	"node(s) didn't satisfy plugin(s) ":               "the same, with several plugins; the text with names is said",
	"no new claims to deallocate":                     "up to v1.36",
	"PersistentVolumeClaim had no name":               "the API server takes no volume without the claim's name",
}

// reasons returns the beginnings of the texts in podberth's source, up to the first part that is filled in.
func reasons(root string) (out []string, err error) {
	for _, folder := range said {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return nil, err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					out = append(out, beginning(l.Value)...)
				}
				return true
			})
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func beginning(literal string) []string {
	text, err := strconv.Unquote(literal)
	if err != nil || !slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(text, b) }) {
		return nil
	}
	text, _, _ = strings.Cut(text, "%")
	if unsaid[text] != "" {
		return nil
	}
	return []string{text}
}
