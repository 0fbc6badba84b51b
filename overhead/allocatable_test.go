package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func TestAllocatable(t *testing.T) {
	type test struct {
		name, why, capacity, kube, system string
		eviction                          map[string]string
		want                              string
	}
	testkit.Run(t, []test{
		{"nothing reserved", "allocatable is the capacity", "cpu=4,memory=10Gi,pods=110", "", "", nil, "cpu=4,memory=10Gi,pods=110"},
		{"the documents' node", "10Gi - 1.5Gi - 500Mi", "memory=10Gi", "", "memory=1.5Gi", map[string]string{"memory.available": "500Mi"}, "memory=8204Mi"},
		{"all three", "kube, system and both thresholds", "cpu=16,memory=32Gi,ephemeral-storage=100Gi", "cpu=1,memory=2Gi,ephemeral-storage=1Gi", "cpu=500m,memory=1Gi,ephemeral-storage=1Gi", map[string]string{"memory.available": "500Mi", "nodefs.available": "10%"}, "cpu=14500m,ephemeral-storage=94489280352,memory=29196Mi"},
		{"single precision", "10% of 100Gi is 10737418400", "memory=100Gi", "", "", map[string]string{"memory.available": "10%"}, "memory=96636764000"},
		{"rounded once", "the text lies above the middle of two numbers of single precision, by less than double precision tells", "memory=1P", "", "", map[string]string{"memory.available": "1.00000005960464477539062500001%"}, "memory=989999998360873"},
		{"disabled thresholds", "0% and 100% keep nothing", "memory=1Gi,ephemeral-storage=1Gi", "", "", map[string]string{"memory.available": "0%", "nodefs.available": "100%"}, "ephemeral-storage=1Gi,memory=1Gi"},
		{"other signals", "keep nothing", "memory=1Gi", "", "", map[string]string{"imagefs.available": "15%", "nodefs.inodesFree": "nonsense"}, "memory=1Gi"},
		{"more reserved than there is", "not below zero", "cpu=1,memory=1Gi", "cpu=2,memory=2Gi", "", nil, "cpu=0,memory=0"},
		{"reservation of an unknown resource", "ignored", "cpu=1", "example.com/x=1", "", nil, "cpu=1"},
		{"huge pages", "leave the memory", "memory=8Gi,hugepages-1Gi=2Gi,hugepages-2Mi=512Mi", "hugepages-2Mi=512Mi", "memory=1Gi", nil, "hugepages-1Gi=2Gi,hugepages-2Mi=0,memory=4608Mi"},
	}, func(t *testing.T, c test) {
		got, err := Allocatable(testkit.Resources(c.capacity), Reservations{testkit.Resources(c.kube), testkit.Resources(c.system), c.eviction})
		require.NoError(t, err)
		require.Equal(t, c.want, testkit.ShowResources(got))
	})
	type test2 struct{ name, text, want string }
	testkit.Run(t, []test2{
		{"no number", "abc%", `evictionHard[memory.available]: strconv.ParseFloat: parsing "abc": invalid syntax`},
		{"above", "101%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be <= 100%: 101%"},
		{"infinite", "1e99%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be <= 100%: 1e99%"},
		{"below", "-1%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be >= 0%: -1%"},
		{"not a number", "NaN%", "evictionHard[memory.available]: eviction percentage threshold memory.available must be >= 0%: NaN%"},
		{"not positive", "0", "evictionHard[memory.available]: eviction threshold memory.available must be positive: 0"},
		{"no quantity", "x", `evictionHard[memory.available]: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
	}, func(t *testing.T, c test2) {
		_, err := Allocatable(testkit.Resources("memory=1Gi"), Reservations{EvictionHard: map[string]string{"memory.available": c.text}})
		require.EqualError(t, err, c.want)
	})
}
