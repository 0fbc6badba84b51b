package fixes

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
)

// Said is a finding with what it is.
type Said struct {
	Rule, Severity string
	Finding
}

// most bounds the values among which a person chooses.
const most = 40

// Law holds every fix of the findings about an input to the law of advice: made, it ends its finding, and no new error comes. draw makes the
// input, an equal one each time; check lints it. Strict is for inputs with one fault: no error of another rule may come. Of inputs with
// several faults an object that has errors may have others afterwards, because one fault hides another, but the API server must not refuse
// what it took before. It counts the fixes that were made, by rule.
func Law[I any](t testing.TB, draw func() *I, check func(in *I) []Said, strict bool, made map[string]int) {
	t.Helper()
	before := check(draw())
	for _, f := range before {
		changes, err := Changes(f.Finding)
		if err != nil {
			t.Fatalf("%s: %v", f.Rule, err)
		}
		for _, c := range changes {
			if c.Apply == nil {
				continue
			}
			why := ""
			for way := range most {
				in := draw()
				w := worldOf(in)
				if !c.Apply(w, way) {
					break
				}
				w.write(in)
				after := check(in)
				if why = trouble(f, before, after, strict); why == "" {
					made[f.Rule]++
					break
				}
			}
			if why != "" {
				t.Errorf("%s of %s: %s\nthe fix %q does not end it: %s", f.Rule, f.Object, f.Explanation, c.Words, why)
			}
		}
	}
}

// trouble says what is wrong after a fix; "" when it ended the finding.
func trouble(f Said, before, after []Said, strict bool) string {
	count := func(list []Said) (n int) {
		for _, o := range list {
			if o.Rule == f.Rule && o.Object == f.Object {
				n++
			}
		}
		return n
	}
	if count(after) >= count(before) {
		i := slices.IndexFunc(after, func(o Said) bool { return o.Rule == f.Rule && o.Object == f.Object })
		return "it is still there: " + after[i].Explanation
	}
	for _, o := range after {
		if !strict && hides(f) {
			break
		}
		known := slices.ContainsFunc(before, func(b Said) bool {
			return b.Object == o.Object && b.Severity == "error" && (b.Rule == o.Rule || !strict && o.Rule != "api-refuses" && o.Rule != "selector-mismatch" && o.Rule != "immutable-field")
		})
		if o.Severity == "error" && !known {
			return fmt.Sprintf("a new error of %s: %s at %s: %s", o.Object, o.Rule, o.Path, o.Explanation)
		}
	}
	return ""
}

// hides reports whether the pods of a finding had no trial before the fix: no scheduler saw them, or they asked for nothing.
func hides(f Said) bool {
	switch f.Rule {
	case "node-name-set", "no-requests":
		return true
	case "no-node-matches", "all-nodes-closed", "empty-node-term", "selector-conflict":
		return strings.HasPrefix(f.Object, "DaemonSet ")
	}
	return false
}

// worldOf returns the objects of an input of package lint, whose fields are lists of objects.
func worldOf(in any) *World {
	w := &World{}
	add := func(list reflect.Value) {
		for i := range list.Len() {
			if o, is := list.Index(i).Interface().(metav1.Object); is && !list.Index(i).IsNil() {
				w.Objects = append(w.Objects, o)
			}
		}
	}
	v := reflect.ValueOf(in).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && v.Type().Field(i).Name != "Live" {
			add(f)
		}
	}
	w.Live, _ = v.FieldByName("Live").Interface().([]metav1.Object)
	if c, _ := v.FieldByName("Cluster").Interface().(*cluster.Objects); c != nil {
		w.Nodes = c.Nodes
		add(reflect.ValueOf(c.Claims))
		add(reflect.ValueOf(c.StorageClasses))
	}
	return w
}

// write adds what a change made to the input, and takes away what it deleted. What the input has no list for goes to its cluster.
func (w *World) write(in any) {
	v := reflect.ValueOf(in).Elem()
	c := v.FieldByName("Cluster").Interface().(*cluster.Objects)
	for _, o := range w.Added {
		if !appendTo(v, o) && c != nil {
			appendTo(reflect.ValueOf(c).Elem(), o)
		}
	}
	budgets := v.FieldByName("Budgets").Addr().Interface().(*[]*policyv1.PodDisruptionBudget)
	*budgets = slices.DeleteFunc(slices.Clone(*budgets), func(b *policyv1.PodDisruptionBudget) bool { return slices.Contains(w.Removed, b) })
}

// appendTo adds an object to the list of its type among the fields of a struct, and reports whether there is one.
func appendTo(v reflect.Value, o metav1.Object) bool {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Type().Elem() == reflect.TypeOf(o) {
			f.Set(reflect.Append(f.Slice3(0, f.Len(), f.Len()), reflect.ValueOf(o)))
			return true
		}
	}
	return false
}

// Rules names the rules of which no fix was made, for tests that they reach all.
func Rules(all []string, made map[string]int) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(all), func(r string) bool { return made[r] > 0 }), " ")
}
