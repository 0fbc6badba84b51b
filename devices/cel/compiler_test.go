package cel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/internal/testkit"
)

func gpu() devices.Device {
	model, index := "a100", int64(0)
	return devices.Device{
		Driver:     "gpu.example.com",
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}, "index": {IntValue: &index}},
		Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
	}
}

// Rules U4.3, U4.4 and U4.5.
func TestSelectors(t *testing.T) {
	type test struct {
		name, expression string
		want             bool
		err              string // prefix of the error text
	}
	testkit.Run(t, []test{
		{"driver", `device.driver == "gpu.example.com"`, true, ""},
		{"attribute under the driver's domain", `device.attributes["gpu.example.com"].model == "a100"`, true, ""},
		{"capacity", `device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("100Gi"))`, false, ""},
		{"shareable", `device.allowMultipleAllocations`, false, ""},
		{"another domain has no attributes", `has(device.attributes["other"].model)`, false, ""},
		{"semantic version", `semver("1.5.0").isGreaterThan(semver("1.4.9"))`, true, ""},
		{"optional attribute", `device.attributes["gpu.example.com"].?missing.orValue("a") == "a"`, true, ""},
		{"strings and sets and lists", `"a-b".split("-").size() == 2 && sets.contains([1, 2], [2]) && [1, 2].sum() == 3`, true, ""},
		{"bind", `cel.bind(m, device.attributes["gpu.example.com"].model, m.startsWith("a"))`, true, ""},
		{"domain that is not there", `"other" in device.attributes`, false, ""},
		{"includes of a value", `device.attributes["gpu.example.com"].model.includes("a100")`, true, ""},
		{"missing attribute", `device.attributes["gpu.example.com"].missing == 1`, false, "no such key: missing"},
		{"unknown field", `device.nope`, false, "compilation failed: ERROR: <input>:1:7: undefined field 'nope'"},
		{"not a bool", `device.driver`, false, "must evaluate to bool or the unknown type, not string"},
		{"no syntax", `device.`, false, "compilation failed: "},
		{"empty", ``, false, "compilation failed: "},
		{"too expensive", strings.Repeat(`[1,2,3,4,5,6,7,8,9,10].all(x, `, 6) + `device.driver != "x"` + strings.Repeat(`)`, 6), false, "operation cancelled: actual cost limit exceeded"},
	}, func(t *testing.T, c test) {
		var got bool
		s, err := cel.NewCompiler().Compile(c.expression)
		if err == nil {
			got, err = s.Matches(gpu())
		}
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.err), "%v", err)
		}
		require.Equal(t, c.want, got)
	})
}

func FuzzCompile(f *testing.F) {
	for _, x := range []string{`device.driver == "x"`, `true`, `device.`, `[1].all(x, x > 0)`} {
		f.Add(x)
	}
	compiler := cel.NewCompiler()
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := compiler.Compile(expression)
		if err != nil {
			return
		}
		first, err1 := s.Matches(gpu())
		second, err2 := s.Matches(gpu())
		require.Equal(t, first, second)
		require.Equal(t, err1 == nil, err2 == nil)
	})
}
