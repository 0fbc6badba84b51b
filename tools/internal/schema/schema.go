// Package schema makes the JSON Schema of what a command prints from the Go type that the command prints, and holds outputs against it.
// Tests use it:
//
//	schema.Check(t, testkit.Golden, map[string]any{"KIND": answer{}}, outputs, nil)
//
// The files are docs/schema/KIND.json. The meaning of a field is the comment of the Go field.
package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/report"
)

// written are the types that write themselves.
var written = map[reflect.Type]jsonschema.Schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[metav1.Duration](): {Type: "string"},
}

// forms are the types that write themselves as another type.
var forms = map[reflect.Type]reflect.Type{
	reflect.TypeFor[placement.Failure](): reflect.TypeFor[failure](),
}

// failure is what placement.Failure writes.
type failure struct {
	Code        string        `json:"code"`                  // Unschedulable, UnschedulableAndUnresolvable or Error
	Message     string        `json:"message"`               // kube-scheduler's message
	Nodes       int           `json:"nodes,omitempty"`       // how many nodes there are
	Reasons     []reasonNodes `json:"reasons,omitempty"`     // the parts of the message
	PreFilter   string        `json:"preFilter,omitempty"`   // the text of a plugin that rejected the pod before any node
	Absent      []string      `json:"absent,omitempty"`      // the texts of nodes that plugins left out
	AbsentNodes int           `json:"absentNodes,omitempty"` // how many nodes plugins left out
	Rejecters   []string      `json:"rejecters,omitempty"`   // the plugins whose events may let one more pod in
	Error       string        `json:"error,omitempty"`       // the error of an attempt that failed
}

type reasonNodes struct {
	Reason string `json:"reason"` // kube-scheduler's text
	Nodes  int    `json:"nodes"`  // how many nodes it rejects
}

// usual are the meanings of fields that have no comment, because they mean the same everywhere.
var usual = map[string]string{
	"pod":       "NAMESPACE/NAME of the pod",
	"namespace": "namespace",
	"name":      "name",
	"node":      "name of the node",
	"plugin":    "name of the plugin",
}

// maker makes the schema of one kind.
type maker struct {
	comments comments
	defs     map[string]*jsonschema.Schema
	names    map[reflect.Type]string
}

// of returns the schema of a kind that the type of answer writes. Each struct is a definition. The error names a type or a field without a form, or
// without a comment.
func of(kind string, answer reflect.Type) (*jsonschema.Schema, error) {
	m := &maker{comments: comments{}, defs: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}}
	s := &jsonschema.Schema{Schema: "https://json-schema.org/draft/2020-12/schema", Title: kind}
	if err := m.object(s, answer); err != nil {
		return nil, err
	}
	s.Properties["apiVersion"].Const = jsonschema.Ptr[any](report.APIVersion)
	s.Properties["kind"].Const = jsonschema.Ptr[any](kind)
	s.Defs = m.defs
	return s, nil
}

// value returns the schema of a value of a type.
func (m *maker) value(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Pointer {
		return m.value(t.Elem())
	}
	if s, ok := written[t]; ok {
		return s.CloneSchemas(), nil
	}
	if form, ok := forms[t]; ok {
		return m.value(form)
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil, fmt.Errorf("%s writes itself: name its form in package schema", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}, nil
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, nil
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, nil
	case reflect.Slice, reflect.Array:
		items, err := m.value(t.Elem())
		return &jsonschema.Schema{Type: "array", Items: items}, err
	case reflect.Map:
		items, err := m.value(t.Elem())
		return &jsonschema.Schema{Type: "object", AdditionalProperties: items}, err
	case reflect.Struct:
		return m.definition(t)
	}
	return nil, fmt.Errorf("%s has no form in JSON", t)
}

// definition returns a reference to the definition of a struct, which has the name of the Go type.
func (m *maker) definition(t reflect.Type) (*jsonschema.Schema, error) {
	name, ok := m.names[t]
	if !ok {
		name = t.Name()
		if m.defs[name] != nil {
			name = t.String() // another package has a type of this name
		}
		s := &jsonschema.Schema{}
		m.names[t], m.defs[name] = name, s
		if err := m.object(s, t); err != nil {
			return nil, err
		}
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}, nil
}

// object writes the fields of a struct into s. A field that is left out when it is empty is not required.
func (m *maker) object(s *jsonschema.Schema, t reflect.Type) error {
	s.Type, s.Properties, s.AdditionalProperties = "object", map[string]*jsonschema.Schema{}, &jsonschema.Schema{Not: &jsonschema.Schema{}}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || f.Anonymous || !f.IsExported() {
			continue
		}
		if name == "" {
			return fmt.Errorf("%s.%s has no name in JSON", t, f.Name)
		}
		value, err := m.value(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		from := t
		if len(f.Index) > 1 {
			from = t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
		comment, err := m.comments.of(from, f.Name)
		if err != nil {
			return err
		}
		if comment == "" {
			comment = usual[name]
		}
		if comment == "" {
			return fmt.Errorf("%s.%s has no comment: say what the field means", from, f.Name)
		}
		value.Description = comment
		s.Properties[name] = value
		s.PropertyOrder = append(s.PropertyOrder, name)
		if !slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" }) {
			s.Required = append(s.Required, name)
		}
	}
	return nil
}
