package dump

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

// everything has a field of each type that the API has.
type everything struct {
	metav1.TypeMeta `json:",inline"`
	Quantity        resource.Quantity    `json:"quantity"`
	Duration        metav1.Duration      `json:"duration"`
	Time            *metav1.Time         `json:"time,omitempty"`
	Text            string               `json:"text"`
	Flag            *bool                `json:"flag"`
	Int32           int32                `json:"int32"`
	Int             int                  `json:"int"`
	Int64           *int64               `json:"int64"`
	Uint64          uint64               `json:"uint64"`
	Float           float64              `json:"float"`
	Small           float32              `json:"small"`
	Bytes           []byte               `json:"bytes"`
	List            []string             `json:"list"`
	Map             map[string]int32     `json:"map"`
	Object          struct{ A, B int32 } `json:"object"`
	Objects         []*v1.Container      `json:"objects"`
	Percent         intstr.IntOrString   `json:"percent"`
	Plain           bool
}

// The error of a field names its path, its value and what it may hold.
func TestFieldsOfTheWrongType(t *testing.T) {
	long := strings.Repeat("ä", 60)
	testkit.Run(t, []struct{ name, text, want string }{
		{"quantity", `{"quantity":"x"}`, `quantity: Invalid value: "x": must be a quantity such as 500m, 2 or 1Gi`},
		{"duration", `{"duration":"x"}`, `duration: Invalid value: "x": must be a duration such as 90s or 5m`},
		{"time", `{"time":"x"}`, `time: Invalid value: "x": must be a time such as 2026-03-02T08:00:00Z`},
		{"truth", `{"text":true}`, `text: Invalid value: true: must be a string; YAML reads y, n, yes, no, on, off, true and false as a truth: write it in quotes`},
		{"angles", `{"list":"<object>"}`, `list: Invalid value: "<object>": must be a list`},
		{"text", `{"text":7}`, `text: Invalid value: 7: must be a string`},
		{"flag", `{"flag":"true"}`, `flag: Invalid value: "true": must be true or false`},
		{"int32", `{"int32":2147483648}`, `int32: Invalid value: 2147483648: must be an integer of 32 bits`},
		{"int", `{"int":1.5}`, `int: Invalid value: 1.5: must be an integer`},
		{"int64", `{"int64":"1"}`, `int64: Invalid value: "1": must be an integer`},
		{"uint64", `{"uint64":-1}`, `uint64: Invalid value: -1: must be an integer that is not negative`},
		{"float", `{"float":"1"}`, `float: Invalid value: "1": must be a number`},
		{"small float", `{"small":[]}`, `small: Invalid value: []: must be a number`},
		{"bytes", `{"bytes":[true]}`, `bytes: Invalid value: [true]: must be a list`},
		{"list", `{"list":"a"}`, `list: Invalid value: "a": must be a list`},
		{"item", `{"list":["a",1,2]}`, `list[1]: Invalid value: 1: must be a string`},
		{"map", `{"map":[]}`, `map: Invalid value: []: must be an object`},
		{"value of a map", `{"map":{"b":"x","c":"y","a":1}}`, `map[b]: Invalid value: "x": must be an integer of 32 bits`},
		{"object", `{"object":3}`, `object: Invalid value: 3: must be an object`},
		{"field of an object", `{"object":{"B":"x","A":1}}`, `object.B: Invalid value: "x": must be an integer of 32 bits`},
		{"first of two", `{"text":1,"object":{"B":"x"}}`, `object.B: Invalid value: "x": must be an integer of 32 bits`},
		{"field behind pointers", `{"objects":[null,{"name":"a"},{"name":{}}]}`, `objects[2].name: Invalid value: {}: must be a string`},
		{"a type with a decoder of its own", `{"percent":true}`, `percent: Invalid value: true: json: cannot unmarshal bool into Go value of type int32`},
		{"inline", `{"kind":1}`, `kind: Invalid value: 1: must be a string`},
		{"the name of the type", `{"Plain":1}`, `Plain: Invalid value: 1: must be true or false`},
		{"the whole", `7`, `Invalid value: 7: must be an object`},
		{"a list", `[1]`, `Invalid value: [1]: must be an object`},
		{"200 bytes", `{"flag":"` + strings.Repeat("x", 198) + `"}`, `flag: Invalid value: "` + strings.Repeat("x", 198) + `": must be true or false`},
		{"201 bytes", `{"flag":"` + strings.Repeat("x", 199) + `"}`, `flag: Invalid value: "` + strings.Repeat("x", 99) + `...: must be true or false`},
		{"cut in a character", `{"flag":"` + long + long + `"}`, `flag: Invalid value: "` + long[:98] + `...: must be true or false`},
		{"no UTF-8", "{\"text\":\"\xff\"}", "Invalid value: must be UTF-8"},
		{"no JSON", `{"text":`, "the JSON ends too early"},
		{"two values", `{} {}`, "not JSON"},
		{"a number of no form", `{"int":1-1}`, "invalid character '-' after object key:value pair"},
		{"a long quantity", `{"quantity":"1e999"}`, `quantity: Invalid value: "1e999": must be a quantity with an exponent between -99 and 99`},
		{"a negative quantity", `{"quantity":-1}`, `quantity: Invalid value: "-1": must not be negative`},
	}, func(t *testing.T, c struct{ name, text, want string }) {
		unknown, err := Decode([]byte(c.text), new(everything))
		require.EqualError(t, err, c.want)
		require.Empty(t, unknown)
	})
	var e everything
	unknown, err := Decode([]byte(`{"kind":"k","quantity":null,"time":null,"int64":5,"Text":"x","objects":[{"nam":"x"}],"percent":"5%","bytes":"YQ=="}`), &e)
	require.NoError(t, err)
	require.Equal(t, []string{`unknown field "Text"`, `unknown field "objects[0].nam"`}, unknown, "names are case-sensitive")
	require.Equal(t, []any{"k", int64(5), "", "5%", "a"}, []any{e.Kind, *e.Int64, e.Text, e.Percent.StrVal, string(e.Bytes)})
}

// A field is found by its name in JSON, that of an embedded struct without a name like one of the struct itself.
func TestFieldsByName(t *testing.T) {
	type inner struct {
		In int32 `json:"in"`
	}
	type named struct{ Deep bool }
	type outer struct {
		inner
		named `json:"named"`
		Own   string `json:"own,omitempty"`
		Bare  int64
	}
	for name, want := range map[string]string{"in": "int32", "named": "dump.named", "own": "string", "Bare": "int64", "inner": "", "Deep": "", "Own": "", "bare": "", "": ""} {
		typ, found := locator{}.field(reflect.TypeFor[outer](), name)
		require.Equal(t, want != "", found, name)
		if found {
			require.Equal(t, want, typ.String(), name)
		}
	}
	for _, name := range []string{"IN", "NAMED", "Own", "bARE"} {
		_, found := locator{fold: true}.field(reflect.TypeFor[outer](), name)
		require.True(t, found, name)
	}
	_, found := locator{fold: true}.field(reflect.TypeFor[outer](), "other")
	require.False(t, found)
}

// Object reads one object of a kind that is known, and nothing else.
func TestObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"Node"`:                            "here: document 1: the JSON ends too early",
		`{"kind":"Node","metadata":{}}`:             "here (Node): metadata.name: Required value: every object has a name",
		`{"kind":"Secret","metadata":{"name":"a"}}`: `here: kind: Unsupported value: "Secret"`,
		`{"kind":"NodeList","items":[]}`:            "here: kind: Invalid value: must be the kind of one object, not of a List",
		`{"kind":"Node","metadata":{"name":7}}`:     "here (Node 7): metadata.name: Invalid value: 7: must be a string",
	} {
		object, err := Object([]byte(text), "here")
		require.ErrorContains(t, err, want)
		require.Nil(t, object)
	}
	object, err := Object([]byte(`{"kind":"Node","metadata":{"name":"n1"}}`), "here")
	require.NoError(t, err)
	require.Equal(t, "n1", object.GetName())
}
