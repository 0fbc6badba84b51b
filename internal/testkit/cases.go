package testkit

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run runs every case of a table as a subtest. A case is a struct with the string field name, which is unique in the table.
// The string field why has the reason of what the case expects, in words. A table has it where the names do not say the
// reason; then every case has a reason, and a case that fails logs it.
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
				if t.Failed() && whys[i] != "" {
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
		if v.Kind() != reflect.Struct || v.FieldByName("name").Kind() != reflect.String {
			return nil, nil, "a case is a struct with the string field name"
		}
		name, why := v.FieldByName("name").String(), ""
		reasons := v.FieldByName("why").IsValid()
		if reasons {
			why = v.FieldByName("why").String()
		}
		switch {
		case name == "":
			return nil, nil, "a case has no name"
		case seen[name]:
			return nil, nil, "two cases are called " + name
		case reasons && why == "":
			return nil, nil, "case " + name + " has no reason"
		}
		seen[name] = true
		names, whys = append(names, name), append(whys, why)
	}
	return names, whys, ""
}
