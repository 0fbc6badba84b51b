package groups_test

import (
	"fmt"

	"k8s.io/api/scheduling/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/scheduler/groups"
)

func Example() {
	object := &v1beta1.PodGroup{}
	err := yaml.UnmarshalStrict([]byte(`
metadata: {namespace: default, name: train}
spec:
  schedulingPolicy: {gang: {minCount: 8}}
  schedulingConstraints: {topology: [{key: example.com/rack}]}
  disruptionMode: {all: {}}
`), object)
	if err != nil {
		fmt.Println(err)
		return
	}
	if errs := groups.Validate(object); len(errs) > 0 {
		fmt.Println(errs.ToAggregate())
		return
	}
	g := groups.Of(object)
	fmt.Println(g.Name, g.Needs(), g.Key(), g.DisruptAll)
	// Output: train 8 example.com/rack true
}

func ExampleValidate() {
	fmt.Println(groups.Validate(&v1beta1.PodGroup{}).ToAggregate())
	// Output: spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
}
