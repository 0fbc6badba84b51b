package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// What the API server says about random objects and what it makes of them: twenty answers of a kind are one line, with how many
// there are of the kind and the hash of their texts.
func TestAnswers(t *testing.T) {
	var out strings.Builder
	kind := func(name string, answers func(w world) []string) {
		said := 0
		h := testkit.Hash64(t, name)
		for k := range uint64(800) {
			w := world{rand.New(rand.NewPCG(k, 71))}
			for _, text := range answers(w) {
				said++
				fmt.Fprintln(h, text)
			}
			if k%20 == 19 {
				fmt.Fprintf(&out, "%s %d: %d answers %016x\n", name, k+1, said, h.Sum64())
			}
		}
		require.Greater(t, said, 600, name)
	}
	kind("pods", func(w world) []string { p := w.pod(); return append(texts(Validate(p, Options{})), Warnings(p)...) })
	kind("tame pods", func(w world) []string { p := w.tame(); return []string{fmt.Sprint(Refusal(p, Validate(p, Options{})))} })
	kind("updates", func(w world) []string { old := w.pod(); return texts(ValidateUpdate(w.update(old), old, Options{})) })
	kind("tame updates", func(w world) []string {
		old := w.tame()
		p := w.update(old)
		return append(texts(ValidateUpdate(p, old, Options{})), texts(validateGates(&p.Spec, &old.Spec, field.NewPath("spec")))...)
	})
	kind("admitted", func(w world) []string {
		p, c := w.tame(), w.cluster()
		o := Options{Release: release.V1_36 + release.Version(w.IntN(2)), ExtendedResources: w.chance(2)}
		if w.chance(3) {
			o.TolerationRestriction = &TolerationRestriction{Default: some(w, 1, w.toleration), Whitelist: some(w, 1, w.toleration)}
		}
		before := inJSON(t, p)
		after, changes, err := Admit(p, c, o)
		require.Equal(t, before, inJSON(t, p), "the pod stays as it was")
		return []string{inJSON(t, after), fmt.Sprint(changes, err)}
	})
	kind("one step", func(w world) []string {
		p, c, n := w.pod(), w.cluster(), w.node()
		restriction := &TolerationRestriction{Default: some(w, 2, w.toleration), Whitelist: some(w, 1, w.toleration)}
		if w.chance(4) {
			restriction = nil
		}
		restricted, err := restriction.Admit(p, namespaceOf(p, c.Namespaces), []v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable}[w.IntN(2)])
		condition, gated := GatedCondition(p)
		return []string{
			inJSON(t, WithLimitRanges(p, c.LimitRanges)), fmt.Sprint(CheckLimitRanges(p, c.LimitRanges)), inJSON(t, MergeLabelKeys(p)),
			inJSON(t, WithExtendedResources(p)), inJSON(t, WithDaemonSet(p)), inJSON(t, Bound(p, n, release.V1_34+release.Version(w.IntN(3)))),
			inJSON(t, restricted), fmt.Sprint(err, LimitHardAntiAffinity(p)), inJSON(t, condition), fmt.Sprint(gated),
		}
	})
	kind("nodes", func(w world) []string {
		old, now := w.node(), w.node()
		if w.chance(2) {
			old.Spec.Taints = now.Spec.Taints
		}
		name := "system:node:" + w.pick("n1", "n2")
		return append(texts(Validate(now, Options{})), fmt.Sprint(ReconcileAliases(now.Labels), TopologyLabels(now), RestrictNode(name, nil, now), RestrictNode(name, old, now)), inJSON(t, WithNotReady(now)))
	})
	kind("tolerations", func(w world) []string {
		now, old, o := some(w, 3, w.toleration), some(w, 3, w.toleration), w.chance(2)
		if w.chance(2) {
			now = append(now, old...)
		}
		return append(texts(validateTolerations(now, nil, o)), texts(tolerationErrors(now, old, nil, o))...)
	})
	kind("budgets and classes", func(w world) []string {
		said := append(texts(Validate(w.budget(), Options{})), texts(ValidateUpdate(w.runtimeClass(), w.runtimeClass(), Options{}))...)
		said = append(said, texts(ValidateUpdate(w.priorityClass(), w.priorityClass(), Options{}))...)
		for _, object := range []metav1.Object{w.node(), w.budget(), w.runtimeClass(), w.priorityClass()} {
			said = append(said, texts(ValidateUpdate(object, w.pod(), Options{}))...)
		}
		return append(append(said, texts(Validate(w.runtimeClass(), Options{}))...), texts(ValidateUpdate(w.pod(), w.node(), Options{}))...)
	})
	testkit.Golden(t, "testdata/answers.golden", out.String())
}

func texts(errs field.ErrorList) (out []string) {
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

func inJSON(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
