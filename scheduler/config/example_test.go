package config_test

import (
	"fmt"

	"github.com/podberth/podberth/scheduler/config"
)

func ExampleLoad() {
	c, err := config.Load([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  plugins:
    score:
      enabled: [{name: NodeResourcesFit, weight: 5}]
      disabled: [{name: NodeResourcesBalancedAllocation}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range c.Profiles {
		fmt.Println(p.SchedulerName)
		for _, s := range p.Placement.Scores {
			fmt.Println(" ", s.Plugin.Name, s.Weight)
		}
	}
	// Output:
	// default-scheduler
	//   TaintToleration 3
	//   NodeAffinity 2
	//   NodeResourcesFit 1
	//   VolumeBinding 1
	//   PodTopologySpread 2
	//   InterPodAffinity 2
	//   DynamicResources 2
	//   NodeResourcesBalancedAllocation 1
	//   ImageLocality 1
	// packing
	//   NodeResourcesFit 5
	//   TaintToleration 3
	//   NodeAffinity 2
	//   VolumeBinding 1
	//   PodTopologySpread 2
	//   InterPodAffinity 2
	//   DynamicResources 2
	//   ImageLocality 1
}
