package dump

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Read reads the dumps at paths: files, folders (recursively their .yaml, .yml and .json files and the .gz of those, by
// name) and "-", which is stdin. Any error is about the first thing that is wrong; nothing is returned beside it.
func Read(paths []string, stdin io.Reader) (*Objects, error) {
	r := reader{objects: &Objects{}, seen: map[string]string{}, unknown: map[string]int{}}
	for _, path := range paths {
		if err := r.path(path, stdin); err != nil {
			return nil, err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.unknown)) {
		r.objects.Warnings = append(r.objects.Warnings, fmt.Sprintf("%d object(s) of kind %s left aside: the kind is not read", r.unknown[k], k))
	}
	return r.objects, nil
}

type reader struct {
	objects *Objects
	seen    map[string]string // kind and name -> where it stood
	unknown map[string]int
	last    metav1.Object
}

func (r *reader) path(path string, stdin io.Reader) error {
	if path == "-" {
		return r.stream("standard input", stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return r.file(path)
	}
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !readable(file) {
			return err
		}
		return r.file(file)
	})
}

func readable(file string) bool {
	switch filepath.Ext(strings.TrimSuffix(file, ".gz")) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func (r *reader) file(file string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		in = z
	}
	return r.stream(file, in)
}

func (r *reader) stream(file string, in io.Reader) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	n := 0
	for document := range documents(text) {
		n++
		if err := r.document(document, fmt.Sprintf("%s: document %d", file, n)); err != nil {
			return err
		}
	}
	return nil
}

// documents yields the YAML documents of text. A line that is "---", alone or before blanks or a comment, separates.
func documents(text []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		start := 0
		for at := 0; at < len(text); {
			line := text[at:]
			if end := bytes.IndexByte(line, '\n'); end >= 0 {
				line = line[:end+1]
			}
			if rest, ok := bytes.CutPrefix(line, []byte("---")); ok {
				rest = bytes.TrimSpace(rest)
				if len(rest) == 0 || rest[0] == '#' {
					if !yield(text[start:at]) {
						return
					}
					start = at + len(line)
				}
			}
			at += len(line)
		}
		yield(text[start:])
	}
}

func (r *reader) document(text []byte, at string) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	data := text
	if !isJSON(text) {
		var err error
		if data, err = yaml.YAMLToJSONStrict(text); err != nil {
			return fmt.Errorf("%s: %w", at, oneLine(err))
		}
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) { // comments only
		return nil
	}
	return r.object(data, at)
}

func isJSON(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && bytes.IndexByte(text, '"') >= 0 && kjson.UnmarshalCaseSensitivePreserveInts(text, &struct{}{}) == nil
}

// rawObject keeps the bytes of a list's item.
type rawObject []byte

// UnmarshalJSON keeps a copy of data.
func (o *rawObject) UnmarshalJSON(data []byte) error {
	*o = bytes.Clone(data)
	return nil
}

func (r *reader) object(data []byte, at string) error {
	var h struct {
		APIVersion string      `json:"apiVersion"`
		Kind       string      `json:"kind"`
		Items      []rawObject `json:"items"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &h); err != nil {
		return fmt.Errorf("%s: not a Kubernetes object with apiVersion and kind: %w", at, oneLine(err))
	}
	if h.Kind == "" {
		return fmt.Errorf("%s: kind: Required value: every document is a Kubernetes object with apiVersion and kind", at)
	}
	if strings.HasSuffix(h.Kind, "List") && h.Items != nil {
		for i, item := range h.Items {
			if err := r.object(item, fmt.Sprintf("%s, item %d", at, i+1)); err != nil {
				return err
			}
		}
		return nil
	}
	if strings.HasSuffix(h.Kind, "List") {
		return nil // a list without items
	}
	version, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		return fmt.Errorf("%s: apiVersion: Invalid value: %q: %w", at, h.APIVersion, err)
	}
	k, ok := kinds[h.Kind]
	if !ok || k.group != version.Group {
		r.unknown[schema.GroupKind{Group: version.Group, Kind: h.Kind}.String()]++
		return nil
	}
	object, err := k.decode(r.objects, data)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", at, nameOf(h.Kind, data), oneLine(err))
	}
	r.last = object
	called := name(h.Kind, object)
	if object.GetName() == "" {
		return fmt.Errorf("%s (%s): metadata.name: Required value: every object has a name", at, h.Kind)
	}
	if first, ok := r.seen[called]; ok {
		return fmt.Errorf("%s: metadata.name: Duplicate value: %q: %s stands at %s already", at, object.GetName(), called, first)
	}
	r.seen[called] = at
	return nil
}

// nameOf names an object that could not be decoded, as far as its metadata can be.
func nameOf(kind string, data []byte) string {
	var h struct {
		Metadata struct {
			Name      any `json:"name"`
			Namespace any `json:"namespace"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &h); err != nil || h.Metadata.Name == nil {
		return kind
	}
	if h.Metadata.Namespace == nil {
		return fmt.Sprintf("%s %v", kind, h.Metadata.Name)
	}
	return fmt.Sprintf("%s %v/%v", kind, h.Metadata.Namespace, h.Metadata.Name)
}

// oneLine puts an error of several lines on one; FieldErrors pass as they are.
func oneLine(err error) error {
	if text := err.Error(); strings.Contains(text, "\n") {
		return errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}
