package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// fromYAML turns YAML text into JSON values, one for each document that is not empty. Aliases are written out, up to limit
// bytes a value; tooLarge is the error beyond that. Errors name lines, which are counted from line.
func fromYAML(text []byte, line, limit int, tooLarge error) ([][]byte, error) {
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) > 0 && first[0] == '%' && !bytes.Contains(first, []byte("\n---")) {
		directive, rest, _ := bytes.Cut(first, []byte("\n"))
		if len(bytes.TrimSpace(rest)) == 0 && bytes.HasPrefix(directive, []byte("%YAML 1.")) {
			return nil, nil // a directive, parted from its document
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(true)
	var values [][]byte
	for {
		var tree any
		err := decoder.Decode(&tree)
		if err == io.EOF {
			return values, nil
		}
		if err != nil {
			return nil, yamlError(err, line)
		}
		if tree == nil {
			continue
		}
		w := writer{limit: limit, tooLarge: tooLarge}
		if err := w.value(tree, 0); err != nil {
			return nil, err
		}
		values = append(values, w.out)
	}
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// yamlError puts the error on one line, with the line numbers of the whole text. The decoder names no line for an error in the
// first line.
func yamlError(err error, line int) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if rest, found := strings.CutPrefix(text, "yaml: "); found && !lineNumber.MatchString(text) {
		text = "yaml: line 1: " + rest
	}
	return errors.New(lineNumber.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.Atoi(s[len("line "):]) // digits, few
		return "line " + strconv.Itoa(n+line-1)
	}))
}

// writer writes what the YAML decoder returns as JSON.
type writer struct {
	out      []byte
	limit    int
	tooLarge error
}

func (w *writer) value(v any, depth int) error {
	if depth > maxNesting {
		return refuse("Too many", "objects and lists may be nested %d deep", maxNesting)
	}
	switch v := v.(type) {
	case string:
		w.text(v)
	case map[any]any:
		return w.object(v, depth)
	case []any:
		w.out = append(w.out, '[')
		for i, item := range v {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return refuse("Invalid value", "%v: JSON has no such number", v)
		}
		w.out = append(w.out, data...)
	}
	if len(w.out) > w.limit {
		return w.tooLarge
	}
	return nil
}

func (w *writer) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			data, _ := json.Marshal(s) // a string has no error
			w.out = append(w.out, data...)
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, s...)
	w.out = append(w.out, '"')
}

func (w *writer) object(m map[any]any, depth int) error {
	keys := make([]string, 0, len(m))
	values := make(map[string]any, len(m))
	for k, v := range m {
		name, ok := keyText(k)
		if !ok {
			return refuse("Invalid value", "%v: a key must be a string, a number or a bool", k)
		}
		if _, twice := values[name]; twice {
			return fmt.Errorf("%s: Duplicate value: the key stands twice", name)
		}
		keys, values[name] = append(keys, name), v
	}
	slices.Sort(keys)
	w.out = append(w.out, '{')
	for i, k := range keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(k)
		w.out = append(w.out, ':')
		if err := w.value(values[k], depth+1); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// keyText returns a key as JSON has it.
func keyText(k any) (string, bool) {
	switch k := k.(type) {
	case string:
		return k, true
	case int:
		return strconv.Itoa(k), true
	case int64:
		return strconv.FormatInt(k, 10), true
	case uint64:
		return strconv.FormatUint(k, 10), true
	case float64:
		return strconv.FormatFloat(k, 'g', -1, 32), true
	case bool:
		return strconv.FormatBool(k), true
	}
	return "", false
}
