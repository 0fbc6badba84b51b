package podgroup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/podberth/podberth/internal/testkit"
)

// Bad input has the API server's text.
func TestValidate(t *testing.T) {
	type test struct {
		name, why string
		group     Group
		want      []string
	}
	bad := v1.PreemptionPolicy("X")
	testkit.Run(t, []test{
		{"good", "a gang of two", Group{Spec: spec("", 2)}, nil},
		{"least", "a gang of one", Group{Spec: spec("", 1)}, nil},
		{"V3 most", "the highest priority", Group{Spec: Spec{Priority: ptr(int32(1000000000))}}, nil},
		{"V5 one key", "a key", Group{Spec: Spec{Constraints: &Constraints{[]string{"a"}}}}, nil},
		{"V7 four claims", "four claims from claims and templates", Group{Claims: []Claim{{Name: "a", ClaimName: "x"}, {Name: "b", TemplateName: "x"}, {Name: "c", ClaimName: "x"}, {Name: "d", ClaimName: "y"}}}, nil},
		{"V8 never", "a policy", Group{Spec: Spec{PreemptionPolicy: ptr(v1.PreemptNever)}}, nil},
		{"V8 lower", "the other policy", Group{Spec: Spec{PreemptionPolicy: ptr(v1.PreemptLowerPriority)}}, nil},
		{"V2 zero", "a gang needs a number", Group{Spec: Spec{Minimum: ptr(int32(0))}}, []string{"spec.schedulingPolicy.gang.minCount: Required value"}},
		{"V2 negative", "not below 1", Group{Spec: spec("", -1)}, []string{"spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1"}},
		{"V3", "priorities of systems are not for groups", Group{Spec: Spec{Priority: ptr(int32(1000000001))}}, []string{"spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000"}},
		{"V5 two keys", "one key", Group{Spec: Spec{Constraints: &Constraints{[]string{"a", "b"}}}}, []string{"spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"}},
		{"V5 empty key", "a key has a name", Group{Spec: Spec{Constraints: &Constraints{[]string{""}}}}, []string{"spec.schedulingConstraints.topology[0].key: Required value"}},
		{"V5 no key", "no keys are accepted", Group{Spec: Spec{Constraints: &Constraints{}}}, nil},
		{"V7 five claims", "four claims", Group{Claims: make([]Claim, 5)}, []string{"spec.resourceClaims: Too many: 5: must have at most 4 items"}},
		{"V7 no source", "a claim has a source", Group{Claims: []Claim{{Name: "x"}}}, []string{"spec.resourceClaims[0]: Invalid value: \"\": must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"}},
		{"V7 two sources", "one source", Group{Claims: []Claim{{Name: "x", ClaimName: "a", TemplateName: "b"}}}, []string{"spec.resourceClaims[0]: Invalid value: \"{resourceClaimName, resourceClaimTemplateName}\": must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"}},
		{"V7 twice", "a name once", Group{Claims: []Claim{{Name: "x", ClaimName: "a"}, {Name: "x", ClaimName: "b"}}}, []string{`spec.resourceClaims[1]: Duplicate value: "x"`}},
		{"parent", "a DNS subdomain", Group{Spec: Spec{Parent: "fleet.a"}}, nil},
		{"bad parent", "no DNS subdomain", Group{Spec: Spec{Parent: "a_b"}}, []string{"spec.parentCompositePodGroupName: Invalid value: \"a_b\": " + content.IsDNS1123Subdomain("a_b")[0]}},
		{"long parent", "at most 253 bytes", Group{Spec: Spec{Parent: strings.Repeat("a", 254)}}, []string{"spec.parentCompositePodGroupName: Invalid value: \"" + strings.Repeat("a", 254) + "\": must be no more than 253 bytes"}},
		{"V8", "two policies", Group{Spec: Spec{PreemptionPolicy: &bad}}, []string{`spec.preemptionPolicy: Unsupported value: "X": supported values: "Never", "PreemptLowerPriority"`}},
	}, func(t *testing.T, c test) {
		var got []string
		for _, err := range ValidateGroup(&c.group, nil) {
			got = append(got, err.Error())
		}
		require.Equal(t, c.want, got)
	})
	errs := ValidateComposite(&Composite{Spec: spec("", -1)}, nil)
	require.Len(t, errs, 1)
	require.Equal(t, "spec.schedulingPolicy.gang.minGroupCount: Invalid value: -1: must be greater than or equal to 1", errs[0].Error())
}
