package lint

import (
	"bytes"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/podberth/podberth/tools/dump"
)

// spot is where a field stands: the file as the command line leads to it, line and column from 1, columns in characters.
type spot struct {
	file         string
	line, column int
}

// mostPlaced bounds the files in which fields are looked for. In larger ones, which are dumps of clusters, objects have names only.
const mostPlaced = 16 << 20

// objects are the YAML nodes of the objects of the manifests, by kind, namespace and name as findings say them. An object without a
// namespace is there with namespace default and with none.
type objects map[string]object

type object struct {
	file string
	node *yaml.Node
}

// readObjects reads the manifests a second time, for the places of their fields. A text that is no YAML to this reader, such as JSON objects
// one behind the other, gives the objects before the first that cannot be read.
func readObjects(paths []string, o dump.Options) (objects, error) {
	found := objects{}
	err := dump.Texts(paths, mostPlaced, o, func(file string, text []byte) error {
		d := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var document yaml.Node
			if err := d.Decode(&document); err != nil {
				return nil //nolint:nilerr // Read has read the file: what this reader cannot read has no place
			}
			for _, n := range document.Content {
				found.add(file, n)
			}
		}
	})
	return found, err
}

// add adds an object, or the items of a List.
func (o objects) add(file string, n *yaml.Node) {
	kind := text(n, "kind")
	if items := child(n, "items"); strings.HasSuffix(kind, "List") && items != nil {
		for _, i := range items.Content {
			o.add(file, i)
		}
		return
	}
	meta := child(n, "metadata")
	namespace := text(meta, "namespace")
	if namespace == "" {
		namespace = "default"
	}
	o[kind+" "+namespace+"/"+text(meta, "name")] = object{file, n}
	if text(meta, "namespace") == "" {
		o[kind+" "+text(meta, "name")] = object{file, n}
	}
}

// place returns where a field of an object stands, or the deepest part of its path that is written. ok is false for an object that
// is in no file.
func (o objects) place(name, path string) (at spot, ok bool) {
	x, ok := o[name]
	if !ok {
		return spot{}, false
	}
	at = spot{x.file, x.node.Line, x.node.Column}
	n := x.node
	for _, step := range steps(path) {
		key, value := entry(n, step)
		if value == nil {
			break
		}
		at.line, at.column, n = key.Line, key.Column, value
	}
	return at, true
}

// steps parts "spec.containers[0].limits[a.b/c]" into spec, containers, 0, limits, a.b/c.
func steps(path string) (out []string) {
	for path != "" {
		var step string
		if path[0] == '[' {
			step, path, _ = strings.Cut(path[1:], "]")
		} else if i := strings.IndexAny(path, ".["); i >= 0 {
			step, path = path[:i], path[i:]
		} else {
			step, path = path, ""
		}
		path = strings.TrimPrefix(path, ".")
		if step != "" {
			out = append(out, step)
		}
	}
	return out
}

// entry returns what stands for the step in a map or a list: the key, or the item itself, and the value.
func entry(n *yaml.Node, step string) (key, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
		return nil, nil
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i], n.Content[i+1]
			}
		}
	}
	return nil, nil
}

func child(n *yaml.Node, name string) *yaml.Node {
	if n == nil {
		return nil
	}
	_, value := entry(n, name)
	return value
}

func text(n *yaml.Node, name string) string {
	if v := child(n, name); v != nil {
		return v.Value
	}
	return ""
}

// uri writes a file as SARIF wants it: relative to the folder of the run where the path is.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(file))}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
