package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func messages(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// requirePrefixes compares error texts by their beginnings.
func requirePrefixes(t *testing.T, want, got []string, why string) {
	t.Helper()
	require.Len(t, got, len(want), "%s: %q", why, got)
	for i := range want {
		require.True(t, strings.HasPrefix(got[i], want[i]), "%s: %s", why, got[i])
	}
}

const (
	unsupportedEffect = `: supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`
	badName           = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	badValue          = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

func TestValidateTaints(t *testing.T) {
	type test struct {
		name   string
		taints []v1.Taint
		want   []string
		why    string
	}
	cases := []test{
		{"valid", taintList("a=b:NoSchedule", "a=b:NoExecute", "example.com/a:PreferNoSchedule"), nil, "unique by key and effect"},
		{"key empty", taintList(":NoSchedule"), []string{
			`metadata.taints[0].key: Invalid value: "": name part must be non-empty`,
			`metadata.taints[0].key: Invalid value: "": ` + badName}, "both messages"},
		{"key", taintList("a:NoSchedule", "b@:NoSchedule"), []string{`metadata.taints[1].key: Invalid value: "b@": ` + badName}, "a qualified name"},
		{"key long", taintList(strings.Repeat("k", 64) + ":NoSchedule"), []string{
			`metadata.taints[0].key: Invalid value: "` + strings.Repeat("k", 64) + `": name part must be no more than 63 bytes`}, "63 at most"},
		{"value", taintList("a=-5:NoSchedule"), []string{`metadata.taints[0].value: Invalid value: "-5": ` + badValue}, "a label value cannot be negative"},
		{"effect empty", taintList("a=b"), []string{"metadata.taints[0].effect: Required value"}, "required"},
		{"effect unknown", taintList("a=b:X"), []string{`metadata.taints[0].effect: Unsupported value: "X"` + unsupportedEffect}, "one of three"},
		{"duplicate", taintList("a=b:NoSchedule", "a=c:NoSchedule"), []string{`metadata.taints[1]: Duplicate value: {"Key":"a","Value":"c","Effect":"NoSchedule","TimeAdded":null}: `}, "key and effect"},
		{"all collected", taintList("a@=b@:X"), []string{"metadata.taints[0].key", "metadata.taints[0].value", "metadata.taints[0].effect"}, "in this order"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		got := messages(validateTaints(c.taints, field.NewPath("metadata", "taints")))
		requirePrefixes(t, c.want, got, c.why)
		if c.name == "duplicate" {
			require.True(t, strings.HasSuffix(got[0], ": taints must be unique by key and effect pair"), got[0])
		}
	})
}

func TestValidateTolerations(t *testing.T) {
	const at = "spec.tolerations[0]."
	off, on := taints.Options{}, taints.Options{ComparisonOperators: true}
	unsupported := `operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"`
	type test struct {
		name       string
		toleration v1.Toleration
		o          taints.Options
		want       []string
		why        string
	}
	cases := []test{
		{"key", tol("a@ Exists _ _"), off, []string{at + `key: Invalid value: "a@": ` + badName}, "a qualified name"},
		{"key empty", tol("_ Equal v _"), off, []string{at + "operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\""}, "only Exists"},
		{"key empty exists", tol("_ Exists _ _"), off, nil, "matches all"},
		{"seconds", tol("a Exists _ NoSchedule", 5), off, []string{at + "effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set"}, "NoExecute only"},
		{"seconds empty effect", tol("a Exists _ _", 5), off, []string{at + "effect: Invalid value: \"\": effect must be 'NoExecute' when"}, "the empty effect is refused too"},
		{"seconds negative", tol("a Exists _ NoExecute", -5), off, nil, "legal"},
		{"equal value", tol("a Equal -5 _"), off, []string{at + `operator: Invalid value: "-5": ` + badValue}, "named on field operator"},
		{"empty operator value", tol("a _ b@ _"), off, []string{at + `operator: Invalid value: "b@": ` + badValue}, "named on field operator"},
		{"exists value", tol("a Exists v _"), off, []string{at + "operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'"}, "no value"},
		{"gate off", tol("a Gt 5 _"), off, []string{at + unsupported}, "the list names the operators all the same"},
		{"gate on", tol("a Gt -5 _"), on, nil, "a negative number is legal"},
		{"gate on leading zero", tol("a Lt 05 _"), on, []string{at + `value: Invalid value: "05": must be a valid decimal integer in canonical form`}, "canonical"},
		{"gate on empty", tol("a Lt _ _"), on, []string{at + `value: Invalid value: "": must be non-empty`, at + `value: Invalid value: "": strconv.ParseInt: parsing "": invalid syntax`}, "and the parser's text"},
		{"gate on large", tol("a Lt 9223372036854775808 _"), on, []string{at + `value: Invalid value: "9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": value out of range`}, "int64"},
		{"operator", tol("a In v _"), on, []string{at + `operator: Unsupported value: "In": supported values: "Equal", "Exists"`}, "without the two others"},
		{"effect", tol("a Exists _ X"), off, []string{at + `effect: Unsupported value: "X"` + unsupportedEffect}, "one of three or empty"},
		{"all collected", tol("_ In v X", 5), off, []string{at + "operator: Invalid", at + "effect: Invalid", at + "operator: Unsupported", at + "effect: Unsupported"}, "in this order"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		got := messages(validateTolerations(tols(c.toleration), field.NewPath("spec", "tolerations"), c.o.ComparisonOperators))
		requirePrefixes(t, c.want, got, c.why)
	})
	twice := tols(tol("a Exists _ _"), tol("a Exists _ _"))
	require.Empty(t, validateTolerations(twice, nil, false), "tolerations need not be unique")
}

func TestValidateTolerationsUpdate(t *testing.T) {
	path := field.NewPath("spec", "tolerations")
	const modified = "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
	old := tols(tol("a Exists _ NoExecute", 5), tol("b Gt 5 _"))
	type test struct {
		name string
		new  []v1.Toleration
		want []string
		why  string
	}
	cases := []test{
		{"unchanged", old, nil, "Gt stays accepted"},
		{"other seconds", tols(tol("a Exists _ NoExecute", 6), tol("b Gt 5 _")), nil, "seconds may change"},
		{"no seconds", tols(tol("a Exists _ NoExecute"), tol("b Gt 5 _")), nil, "seconds may go"},
		{"added", append(tols(tol("c Exists _ _")), old...), nil, "additions are allowed"},
		{"gate off but used", append(tols(tol("c Lt 5 _")), old...), nil, "the old pod uses Gt already"},
		{"removed", tols(tol("a Exists _ NoExecute", 5)), []string{modified}, "removal"},
		{"changed", tols(tol("a Exists _ _"), tol("b Gt 5 _")), []string{modified}, "another effect"},
		{"all changed", tols(tol("_ Equal _ _")), []string{modified, "spec.tolerations[0].operator: Invalid value"}, "one error for the change, and the checks of the new list"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		got := messages(tolerationErrors(c.new, old, path, false))
		requirePrefixes(t, c.want, got, c.why)
	})
}

// tolerationErrors returns the errors about tolerations of an update.
func tolerationErrors(now, old []v1.Toleration, path *field.Path, numbers bool) field.ErrorList {
	used := slices.ContainsFunc(old, func(t v1.Toleration) bool { return compares(t.Operator) })
	return append(tolerationsKept(now, old, path), validateTolerations(now, path, numbers || used)...)
}
