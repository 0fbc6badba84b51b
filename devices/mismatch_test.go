package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// What a selector compares with literals is named with what it wants and what the devices have. About everything else nothing is said.
func TestMismatches(t *testing.T) {
	of := func(model string, memory string, shared bool, lanes int64) *device {
		return &device{id: ID{Driver: "gpu.example.com"}, object: &resourcev1.Device{
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"model": {StringValue: &model}, "pci.example.com/lanes": {IntValue: &lanes}, "shared": {BoolValue: &shared}, "driver": {VersionValue: new("1.2.3")},
			},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}},
		}}
	}
	t4, l4 := of("T4", "16Gi", false, 8), of("L4", "24Gi", true, 16)
	type test struct {
		name, why string
		of        string
		devices   []*device
		want      []string
	}
	const model, memory = `device.attributes["gpu.example.com"].model`, `device.capacity["gpu.example.com"].memory`
	testkit.Run(t, []test{
		{"a value", "the values of both devices, in order", model + ` == "A100"`, []*device{t4, l4}, []string{"gpu.example.com/model is L4, T4, wanted A100"}},
		{"one of values", "each may be it", model + ` in ["A100", 'H100']`, []*device{t4}, []string{"gpu.example.com/model is T4, wanted A100 or H100"}},
		{"many values", "the list is bounded", model + ` in ["a", "b", "c", "d", "e"]`, []*device{t4}, []string{"gpu.example.com/model is T4, wanted a or b or c or 2 more"}},
		{"another value", "!= is met by everything else", model + ` != "T4"`, []*device{t4}, []string{"gpu.example.com/model is T4, wanted another than T4"}},
		{"an amount", "amounts are compared as quantities", memory + `.compareTo(quantity("20Gi")) >= 0`, []*device{t4}, []string{"gpu.example.com/memory is 16Gi, wanted at least 20Gi"}},
		{"more than an amount", "isGreaterThan", memory + `.isGreaterThan(quantity("24Gi"))`, []*device{l4}, []string{"gpu.example.com/memory is 24Gi, wanted more than 24Gi"}},
		{"less than an amount", "isLessThan", memory + `.isLessThan(quantity("16Gi"))`, []*device{t4}, []string{"gpu.example.com/memory is 16Gi, wanted less than 16Gi"}},
		{"a number", "integers are compared by value", `device.attributes["pci.example.com"].lanes > 8`, []*device{t4}, []string{"pci.example.com/lanes is 8, wanted more than 8"}},
		{"the other domain", "a name with a domain is not one of the driver", `device.attributes["gpu.example.com"].lanes > 8`, []*device{t4}, []string{"gpu.example.com/lanes is nothing, wanted more than 8"}},
		{"true", "a condition may be the attribute", `device.attributes["gpu.example.com"].shared`, []*device{t4}, []string{"gpu.example.com/shared is false, wanted true"}},
		{"false", "or its opposite", `!device.attributes["gpu.example.com"].shared`, []*device{l4}, []string{"gpu.example.com/shared is true, wanted false"}},
		{"the driver", "another attribute of a device", `device.driver == "net.example.com"`, []*device{t4}, []string{"driver is gpu.example.com, wanted net.example.com"}},
		{"nothing", "a device without the attribute", `device.attributes["gpu.example.com"]["zone"] == "a"`, []*device{t4}, []string{"gpu.example.com/zone is nothing, wanted a"}},
		{"the one condition", "a condition that all fail comes alone", model + ` == "T4" && ` + memory + `.compareTo(quantity("20Gi")) >= 0`, []*device{t4}, []string{"gpu.example.com/memory is 16Gi, wanted at least 20Gi"}},
		{"one each", "no condition is failed by all", "(" + model + ` == "T4") && (` + memory + `.compareTo(quantity("20Gi")) >= 0)`, []*device{t4, l4},
			[]string{"gpu.example.com/model is L4, wanted T4", "gpu.example.com/memory is 16Gi, wanted at least 20Gi"}},
		{"quotes", "operators in a string are none", model + ` == "a && b || c"`, []*device{t4}, []string{"gpu.example.com/model is T4, wanted a && b || c"}},
		{"or", "another case may be true", model + ` == "A100" || ` + model + ` == "H100"`, []*device{t4}, nil},
		{"a choice", "the condition has two sides", `device.driver == "x" ? true : false`, []*device{t4}, nil},
		{"a version", "nobody compares it here", `device.attributes["gpu.example.com"].driver == "1"`, []*device{t4}, nil},
		{"a call", "not a comparison with a literal", model + `.startsWith("A")`, []*device{t4}, nil},
		{"an escape", "a string with an escape is not read", model + ` == "\u0041"`, []*device{t4}, nil},
		{"met", "devices that meet the known condition fail another one", model + ` == "T4" && ` + model + `.endsWith("5")`, []*device{t4}, nil},
		{"no amount", "the quantity cannot be read", memory + `.compareTo(quantity("many")) >= 0`, []*device{t4}, nil},
		{"no device", "nobody is refused", model + ` == "A100"`, nil, nil},
	}, func(t *testing.T, c test) {
		var got []string
		for _, m := range mismatches(c.of, c.devices) {
			got = append(got, m.text())
		}
		require.Equal(t, c.want, got)
	})
	var many []*device
	for _, model := range []string{"a", "b", "c", "d", "e"} {
		many = append(many, of(model, "1", false, 1))
	}
	require.Equal(t, []Mismatch{{Name: "gpu.example.com/model", Wanted: "z", Found: []string{"a", "b", "c"}, More: 2}}, mismatches(model+` == "z"`, many))
}

// An expression is split without end and without a panic, whatever it is.
func FuzzClauses(f *testing.F) {
	for _, s := range []string{`a && (b || c)`, `((a))`, `"a && 'b`, `(a) && (b)`, `device.attributes["d"].m in ["a", "b"]`, `\`, `(`, `)`, `&&`, `'\'`} {
		f.Add(s)
	}
	d := []*device{{id: ID{Driver: "d"}, object: &resourcev1.Device{}}}
	f.Fuzz(func(t *testing.T, expression string) {
		require.LessOrEqual(t, len(mismatches(expression, d)), mostMismatches)
	})
}
