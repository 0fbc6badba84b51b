package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A schema takes what the type writes. It refuses other fields, missing fields, null, and values of other types.
func TestSchema(t *testing.T) {
	m := &maker{comments: comments{}, defs: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}}
	s, err := m.value(reflect.TypeFor[*placement.Failure]())
	require.NoError(t, err)
	require.Equal(t, "#/$defs/failure", s.Ref)
	require.Equal(t, "the parts of the message", m.defs["failure"].Properties["reasons"].Description)
	s.Defs = m.defs
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	type test struct{ name, json, refused string }
	testkit.Run(t, []test{
		{"whole", `{"code": "Unschedulable", "message": "m", "nodes": 1, "reasons": [{"reason": "r", "nodes": 1}]}`, ""},
		{"another field", `{"code": "Unschedulable", "message": "m", "more": 1}`, "more"},
		{"a field is missing", `{"code": "Unschedulable"}`, "message"},
		{"null", `{"code": "Unschedulable", "message": "m", "reasons": null}`, "null"},
		{"no number", `{"code": "Unschedulable", "message": "m", "nodes": "1"}`, "integer"},
		{"a field below", `{"code": "Unschedulable", "message": "m", "reasons": [{"reason": "r"}]}`, "nodes"},
	}, func(t *testing.T, c test) {
		var v any
		require.NoError(t, json.Unmarshal([]byte(c.json), &v))
		err := resolved.Validate(v)
		if c.refused == "" {
			require.NoError(t, err)
			return
		}
		require.ErrorContains(t, err, c.refused)
	})
}

// A type whose form is not known, and a field without a meaning, have no schema.
func TestNoSchema(t *testing.T) {
	type unread struct {
		Field int `json:"field"`
	}
	type nameless struct{ Field int }
	type test struct {
		name string
		of   reflect.Type
		want string
	}
	testkit.Run(t, []test{
		{"writes itself", reflect.TypeFor[metav1.Time](), "v1.Time writes itself: name its form in package schema"},
		{"no form", reflect.TypeFor[chan int](), "chan int has no form in JSON"},
		{"below", reflect.TypeFor[[]map[string]func()](), "func() has no form in JSON"},
		{"no source", reflect.TypeFor[unread](), "schema.unread has no source in github.com/podberth/podberth/tools/internal/schema"},
		{"no name", reflect.TypeFor[nameless](), "schema.nameless.Field has no name in JSON"},
	}, func(t *testing.T, c test) {
		m := &maker{comments: comments{}, defs: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}}
		_, err := m.value(c.of)
		require.EqualError(t, err, c.want)
	})
}
