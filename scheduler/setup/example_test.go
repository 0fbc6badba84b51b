package setup_test

import (
	"fmt"

	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/setup"
)

func Example() {
	c, err := config.Load([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 20
profiles:
- schedulerName: batch
extenders:
- urlPrefix: http://localhost:8888
  bindVerb: bind
`))
	if err != nil {
		panic(err)
	}
	options, warnings, err := setup.Options(c, setup.Extending{})
	fmt.Println(options.Profiles[0].SchedulerName, options.MaxBackoff, err)
	fmt.Println(warnings)
	// Output:
	// batch 20s <nil>
	// [extender http://localhost:8888: is not asked to bind]
}
