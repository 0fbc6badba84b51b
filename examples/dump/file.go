package dump

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// ReadFile reads the one YAML or JSON document of a file (packed when its name ends in .gz; "-" is stdin) into object, a
// pointer to a struct. Errors name the file, the field path and the value. unknown has one line for each field that object
// does not have or that stands twice; whether that is an error is the caller's choice.
func ReadFile(path string, stdin io.Reader, object any) (unknown []string, err error) {
	called, text, err := slurp(path, stdin)
	if err != nil {
		return nil, err
	}
	var data []byte
	for document := range documents(text) {
		if isEmpty(document) {
			continue
		}
		if data != nil {
			return nil, fmt.Errorf("%s: must hold a single document", called)
		}
		if data = document; !isJSON(document) {
			if data, err = yaml.YAMLToJSONStrict(document); err != nil {
				return nil, fmt.Errorf("%s: %w", called, oneLine(err))
			}
		}
	}
	if data == nil {
		return nil, fmt.Errorf("%s: is empty", called)
	}
	if err := decode(data, object); err != nil {
		return nil, fmt.Errorf("%s: %w", called, oneLine(err))
	}
	strict, err := kjson.UnmarshalStrict(data, reflect.New(reflect.TypeOf(object).Elem()).Interface())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", called, oneLine(err))
	}
	for _, e := range strict {
		unknown = append(unknown, fmt.Sprintf("%s: %v", called, e))
	}
	return unknown, nil
}

// isEmpty reports whether a document has nothing but blanks and comments.
func isEmpty(document []byte) bool {
	for line := range strings.Lines(string(document)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

func slurp(path string, stdin io.Reader) (called string, text []byte, err error) {
	if path == "-" {
		text, err = io.ReadAll(stdin)
		return "standard input", text, err
	}
	f, err := os.Open(path)
	if err != nil {
		return path, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return path, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if text, err = io.ReadAll(in); err != nil {
		return path, nil, fmt.Errorf("%s: %w", path, err)
	}
	return path, text, nil
}
