package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/write"
)

// Pods of a profile wait for volumes and devices as long as the arguments of its plugins say.
func TestWaits(t *testing.T) {
	c, err := config.Load([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: a
- schedulerName: b
  pluginConfig:
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 3}
  - name: DynamicResources
    args: {bindingTimeout: 5s}
- schedulerName: c
  plugins:
    multiPoint: {disabled: [{name: VolumeBinding}, {name: DynamicResources}]}
- schedulerName: d
  pluginConfig:
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 9223372036854775807}
`))
	require.NoError(t, err)
	require.Equal(t, map[string]write.Waits{
		"a": {Volumes: 10 * time.Minute, Devices: 10 * time.Minute},
		"b": {Volumes: 3 * time.Second, Devices: 5 * time.Second},
		"c": {Volumes: 10 * time.Minute, Devices: 10 * time.Minute},
		"d": {Volumes: 9_223_372_036 * time.Second, Devices: 10 * time.Minute}, // about 292 years, the most that a Duration holds
	}, waits(c))
}
