package lint

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/internal/testkit/fixes"
	"github.com/podberth/podberth/tools/program"
)

// After each fix of a finding is made, place agrees: it leaves a pod without a node exactly where lint still has an error.
func TestFixesAgreeWithPlace(t *testing.T) {
	all, without := 0, 0
	for seed := range uint64(*agreements / 10) {
		g := &drawing{rand.New(rand.NewPCG(seed, 60))}
		kind, manifest := g.manifest()
		text := g.cluster() + "\n---\n" + manifest
		first := true
		fixes.Law(t, func() *lint.Input {
			in, _, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader(text))
			require.NoError(t, err)
			return &in
		}, func(in *lint.Input) (out []fixes.Said) {
			found, err := lint.Check(*in)
			require.NoError(t, err)
			var errors []string
			for _, f := range found {
				out = append(out, fixes.Said{Rule: f.Rule, Severity: string(f.Severity), Finding: fixes.Finding{Object: f.Object, Path: f.Path, Explanation: f.Explanation, Fix: f.Fix}})
				if f.Severity == lint.Error && !strings.HasPrefix(f.Rule, "rollout-") && !strings.HasPrefix(f.Rule, "budget-") && strings.HasPrefix(f.Object, kind+" ") {
					errors = append(errors, f.Rule+": "+f.Explanation)
				}
			}
			if first { // TestAgreement
				first = false
				return out
			}
			now := streamOf(t, in)
			stays, placed, answer := placing(t, now, "")
			if stays+placed == 0 { // the object is refused although it asks for no pods
				errors = slices.DeleteFunc(errors, func(r string) bool { return strings.HasPrefix(r, "api-refuses") })
			}
			want := stays > 0 && (placed == 0 || kind != "Job" && kind != "CronJob")
			require.Equal(t, want, len(errors) > 0, "%d: %d stay, %d have nodes, lint says %q\n%s\n%s", seed, stays, placed, errors, now, answer)
			if all++; !want {
				without++
			}
			return out
		}, false, map[string]int{})
	}
	t.Log(all, without)
	require.Greater(t, all, *agreements/20)
	require.Greater(t, without, *agreements/40)
	require.Greater(t, all-without, *agreements/50)
}

// streamOf writes the objects of an input as a stream that place reads. The pods of a StatefulSet are made together.
func streamOf(t *testing.T, in *lint.Input) string {
	var docs []string
	seen := map[string]bool{}
	list := func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() != reflect.Slice || v.Type().Field(i).Name == "Live" {
				continue
			}
			for k := range f.Len() {
				o, is := f.Index(k).Interface().(metav1.Object)
				if !is {
					continue
				}
				of := reflect.TypeOf(o).Elem()
				path := strings.Split(of.PkgPath(), "/") // k8s.io/api/apps/v1
				if len(path) != 4 {
					continue
				}
				name := of.Name() + "/" + o.GetNamespace() + "/" + o.GetName()
				if seen[name] {
					continue
				}
				seen[name] = true
				group := path[2]
				switch group {
				case "core":
					group = ""
				case "apps", "batch", "policy", "autoscaling":
					group += "/"
				default:
					group += ".k8s.io/"
				}
				var m map[string]any
				text, err := json.Marshal(o)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(text, &m))
				m["kind"], m["apiVersion"] = of.Name(), group+path[3]
				text, err = json.Marshal(m)
				require.NoError(t, err)
				docs = append(docs, strings.Replace(string(text), `"podManagementPolicy":"OrderedReady"`, `"podManagementPolicy":"Parallel"`, 1))
			}
		}
	}
	list(reflect.ValueOf(in).Elem())
	list(reflect.ValueOf(in.Cluster).Elem())
	return strings.Join(docs, "\n---\n")
}
