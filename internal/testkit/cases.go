package testkit

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run runs every case of a table as a subtest. A case is a struct with the string fields name and why: name is unique in the
// table, and why says in words why the case expects its result. The test fails when a case lacks one of them. A failing case
// logs its reason.
//
//	type test struct {
//		name, why string
//		pod       *v1.Pod
//		want      bool
//	}
//	testkit.Run(t, []test{{"no request", "a pod without requests fits everywhere", pod, true}}, func(t *testing.T, c test) {
//		require.Equal(t, c.want, fits(c.pod))
//	})
func Run[C any](t *testing.T, cases []C, body func(t *testing.T, c C)) {
	t.Helper()
	names, whys, err := labels(cases)
	require.Empty(t, err)
	for i, c := range cases {
		t.Run(names[i], func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("why: " + whys[i])
				}
			})
			body(t, c)
		})
	}
}

// labels returns the names and reasons of cases. wrong says what is wrong with the cases, and is empty for correct cases.
func labels[C any](cases []C) (names, whys []string, wrong string) {
	if len(cases) == 0 {
		return nil, nil, "the table has no cases"
	}
	seen := map[string]bool{}
	for _, c := range cases {
		v := reflect.ValueOf(c)
		if v.Kind() != reflect.Struct || v.FieldByName("name").Kind() != reflect.String || v.FieldByName("why").Kind() != reflect.String {
			return nil, nil, "a case is a struct with the string fields name and why"
		}
		name, why := v.FieldByName("name").String(), v.FieldByName("why").String()
		switch {
		case name == "":
			return nil, nil, "a case has no name"
		case seen[name]:
			return nil, nil, "two cases are called " + name
		case why == "":
			return nil, nil, "case " + name + " has no reason"
		}
		seen[name] = true
		names, whys = append(names, name), append(whys, why)
	}
	return names, whys, ""
}
