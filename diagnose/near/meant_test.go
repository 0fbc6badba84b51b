package near

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Which values a wrong one may mean.
func TestValue(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"ssd", "SSD"}: true, {"ssd", "ssd"}: false, {"ssd", "sdd"}: true, {"large", "lagre"}: true, {"large", "smaller"}: false, {"fast_disk", "fast-disk"}: true,
		{"", "true"}: true, {"true", ""}: true, {"", "yes"}: false, {"", ""}: false, {"-", "_"}: false, {"disk", "dis"}: true, {"disk", "di"}: false,
		{"general", "genera12"}: true, {"-general", "-genaral"}: true, {"7general", "general"}: true, {"general", "gener123"}: false, {"Zone1", "zome1"}: true, {"pool-1", "pol-1"}: true,
	} {
		require.Equal(t, want, Value(pair[0], pair[1]), pair)
	}
}

// Values that differ in numbers, single letters or words for a place, a size or a machine are two values.
func TestNumbered(t *testing.T) {
	for _, pair := range [][2]string{
		{"a", "b"}, {"z1", "z2"}, {"us-east-1a", "us-east-1b"}, {"us-east-1", "us-east-1a"}, {"eu-west-1", "eu-west-2"}, {"zoneA", "zoneC"}, {"pool", "pool-2"}, {"rack-12", "rack-13"},
		{"a100", "h100"}, {"a100", "a10"}, {"nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.5gb"}, {"Zone1", "zone2"}, {"v1.2", "v1.2.3"}, {"gpu-x", "gpu-y"},
		{"arm64", "amd64"}, {"us-east-1", "us-west-1"}, {"m5.large", "m5.xlarge"}, {"m5.2xlarge", "m5.xlarge"},
	} {
		require.False(t, Value(pair[0], pair[1]), pair)
		require.False(t, Value(pair[1], pair[0]), pair)
	}
}

func TestKey(t *testing.T) {
	keys := []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "disktype", "disktier", "node-role.kubernetes.io/control-plane", "example.com/pool", "rack"}
	type test struct{ name, why, wrong, want string }
	testkit.Run(t, []test{
		{"domain", "it is the same behind the slash", "kubernetes/hostname", "kubernetes.io/hostname"},
		{"old name", "the key has a new name", "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
		{"old role", "the key has a new name", "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"},
		{"old name without the new one", "no node has it", "beta.kubernetes.io/os", ""},
		{"mark", "a mark is no letter", "disk-type", "disktype"},
		{"nothing", "no key looks like it", "gpu", ""},
		{"domain missing", "the part behind the slash is the wrong key", "pool", "example.com/pool"},
		{"domain too much", "the key is the part behind the slash", "example.org/rack", "rack"},
		{"the nearest", "disktier is farther", "disktypes", "disktype"},
		{"another key of the domain", "four letters differ", "topology.kubernetes.io/rack", "rack"},
		{"another role", "roles are no typing errors of each other", "node-role.kubernetes.io/worker", ""},
		{"nothing behind the slash", "an empty part is the same as no other", "example.com/", ""},
		{"itself", "the wrong key is not meant", "disktype", ""},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, Key(c.wrong, keys))
	})
}

func TestMeant(t *testing.T) {
	type test struct {
		name, why, wrong string
		names            []string
		want             string
		ok               bool
	}
	testkit.Run(t, []test{
		{"nothing", "there is no name", "zone", nil, "", false},
		{"the nearest", "two letters differ, and one", "general", []string{"genxxal", "generals"}, "generals", true},
		{"nearer than two", "the two are farther", "general", []string{"generxx", "genxxal", "generalx", "generalx"}, "generalx", true},
		{"equally near", "each may be meant", "sdd", []string{"ssd", "hdd", "ssd"}, "", false},
		{"empty", "an empty value may be meant", "true", []string{"", "false"}, "", true},
		{"another domain", "a device of another maker is another device", "amd.com/gpu", []string{"nvidia.com/gpu"}, "", false},
	}, func(t *testing.T, c test) {
		name, ok := Meant(c.wrong, c.names)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.want, name)
	})
}
