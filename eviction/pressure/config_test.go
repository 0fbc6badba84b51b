package pressure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

type settings = map[string]string

func TestCompileErrors(t *testing.T) {
	const mem = "memory.available"
	const quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
	hard := func(signal, value string) Config {
		return Config{EvictionHard: settings{signal: value}}
	}
	reclaim := func(value string) Config {
		return Config{EvictionMinimumReclaim: settings{mem: value}}
	}
	soft := func(value, grace string) Config {
		return Config{EvictionSoft: settings{mem: value}, EvictionSoftGracePeriod: settings{mem: grace}}
	}
	type test struct {
		name  string
		c     Config
		want  string
		field string
	}
	testkit.Run(t, []test{
		{"unknown signal", hard("cpu.available", "1"), "unsupported eviction signal cpu.available", "evictionHard"},
		{"unknown soft signal", Config{EvictionSoft: settings{"x": "1"}, EvictionSoftGracePeriod: settings{mem: "1s"}}, "unsupported eviction signal x", "evictionSoft"},
		{"unknown signal in grace", Config{EvictionSoftGracePeriod: settings{"x": "1s"}}, "unsupported eviction signal x", "evictionSoftGracePeriod"},
		{"unknown signal in reclaim", Config{EvictionMinimumReclaim: settings{"x": "1"}}, "unsupported eviction signal x", "evictionMinimumReclaim"},
		{"percent abc", hard(mem, "abc%"), `strconv.ParseFloat: parsing "abc": invalid syntax`, "evictionHard"},
		{"percent alone", hard(mem, "%"), `strconv.ParseFloat: parsing "": invalid syntax`, "evictionHard"},
		{"percent with a space before", hard(mem, " 10%"), `strconv.ParseFloat: parsing " 10": invalid syntax`, "evictionHard"},
		{"percent with a space after", hard(mem, "10 %"), `strconv.ParseFloat: parsing "10 ": invalid syntax`, "evictionHard"},
		{"percent with operator", hard(mem, "<10%"), `strconv.ParseFloat: parsing "<10": invalid syntax`, "evictionHard"},
		{"percent negative", hard(mem, "-1%"), "eviction percentage threshold memory.available must be >= 0%: -1%", "evictionHard"},
		{"percent 101", hard(mem, "101%"), "eviction percentage threshold memory.available must be <= 100%: 101%", "evictionHard"},
		{"percent infinite", hard(mem, "Inf%"), "eviction percentage threshold memory.available must be <= 100%: Inf%", "evictionHard"},
		{"percent not a number", hard(mem, "NaN%"), "eviction percentage threshold memory.available must be >= 0%: NaN%", "evictionHard"},
		{"quantity", hard(mem, "1Gb"), quantity, "evictionHard"},
		{"quantity without digits", hard(mem, "x"), quantity, "evictionHard"},
		{"quantity zero", hard(mem, "0"), "eviction threshold memory.available must be positive: 0", "evictionHard"},
		{"quantity negative", hard(mem, "-1024Ki"), "eviction threshold memory.available must be positive: -1Mi", "evictionHard"},
		{"soft without grace", Config{EvictionSoft: settings{mem: "1Gi"}}, "grace period must be specified for the soft eviction threshold memory.available", "evictionSoft"},
		{"grace without unit", soft("1Gi", "5"), `time: missing unit in duration "5"`, "evictionSoftGracePeriod"},
		{"grace negative", soft("1Gi", "-5s"), "invalid eviction grace period specified: -5s, must be a positive value", "evictionSoftGracePeriod"},
		{"reclaim percent zero", reclaim("0%"), "eviction percentage minimum reclaim memory.available must be positive: 0%", "evictionMinimumReclaim"},
		{"reclaim percent not a number", reclaim("NaN%"), "eviction percentage minimum reclaim memory.available must be positive: NaN%", "evictionMinimumReclaim"},
		{"reclaim negative", reclaim("-1"), "negative eviction minimum reclaim specified for memory.available", "evictionMinimumReclaim"},
		{"reclaim quantity", reclaim("y"), quantity, "evictionMinimumReclaim"},
		{"hard before soft", Config{EvictionHard: settings{mem: "0"}, EvictionSoft: settings{mem: "-1"}}, "eviction threshold memory.available must be positive: 0", "evictionHard"},
		{"by signal", Config{EvictionHard: settings{"b": "1", "a": "1"}}, "unsupported eviction signal a", "evictionHard"},
		{"grace missing comes last", Config{EvictionSoft: settings{mem: "1Gi"}, EvictionMinimumReclaim: settings{mem: "-1"}}, "negative eviction minimum reclaim specified for memory.available", "evictionMinimumReclaim"},
	}, func(t *testing.T, tc test) {
		_, err := Compile(tc.c, Options{})
		var wrong *ConfigError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, tc.field, wrong.Field)
		require.NotEmpty(t, wrong.Signal)
		require.EqualError(t, err, tc.want)
	})
}

func TestCompileAccepts(t *testing.T) {
	type test struct {
		name string
		c    Config
		want []string
	}
	testkit.Run(t, []test{
		{"0% and 100% disable", Config{EvictionHard: settings{"memory.available": "0%", "nodefs.available": "100%"}}, nil},
		{"disabled soft needs no grace", Config{EvictionSoft: settings{"memory.available": "100%"}}, nil},
		{"0.0% and 100.0% are kept", Config{EvictionHard: settings{"memory.available": "0.0%", "nodefs.available": "100.0%"}}, []string{"memory.available<0.0%", "nodefs.available<100.0%"}},
		{"several percent signs", Config{EvictionHard: settings{"memory.available": "5%%"}}, []string{"memory.available<5%"}},
		{"odd quantities", Config{EvictionHard: settings{"memory.available": "500m", "nodefs.available": "1e3", "pid.available": "1000Ei"}}, []string{"memory.available<500m", "nodefs.available<1e3", "pid.available<9223372036854775807"}},
		{"hard and soft of one signal", Config{EvictionHard: settings{"memory.available": "1Gi"}, EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "30s"}},
			[]string{"memory.available<1Gi", "memory.available<2Gi for 30s"}},
		{"soft with grace 0s is hard", Config{EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "0s"}, EnforceNodeAllocatable: []string{"pods"}},
			[]string{"memory.available<2Gi", "allocatableMemory.available<2Gi"}},
		{"grace of an unset signal is ignored", Config{EvictionSoftGracePeriod: settings{"memory.available": "1s"}}, nil},
		{"reclaim of an unset signal is ignored", Config{EvictionMinimumReclaim: settings{"memory.available": "200%"}}, nil},
		{"allocatable copy of hard memory", Config{EvictionHard: settings{"memory.available": "10%"}, EvictionSoft: settings{"memory.available": "20%"}, EvictionSoftGracePeriod: settings{"memory.available": "1s"}, EnforceNodeAllocatable: []string{"system-reserved", "pods"}},
			[]string{"memory.available<10%", "memory.available<20% for 1s", "allocatableMemory.available<10%"}},
		{"no copy unless pods are enforced", Config{EvictionHard: settings{"memory.available": "10%"}, EnforceNodeAllocatable: []string{"system-reserved"}}, []string{"memory.available<10%"}},
		{"allocatable set by hand", Config{EvictionHard: settings{"allocatableMemory.available": "1Gi"}}, []string{"allocatableMemory.available<1Gi"}},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, list(compile(t, tc.c, Options{}), ""))
	})
}

func list(p *Policy, l Layout) []string {
	var out []string
	for _, t := range p.Thresholds(l) {
		out = append(out, t.String())
	}
	return out
}

func TestMinimumReclaimOfEveryThreshold(t *testing.T) {
	p := compile(t, Config{EvictionHard: settings{"memory.available": "1Gi"}, EvictionSoft: settings{"memory.available": "2Gi"}, EvictionSoftGracePeriod: settings{"memory.available": "30s"},
		EvictionMinimumReclaim: settings{"memory.available": "150%"}, EnforceNodeAllocatable: []string{"pods"}}, Options{})
	require.Len(t, p.Thresholds(singleFilesystem), 3)
	for _, th := range p.Thresholds(singleFilesystem) {
		require.Equal(t, "150%", th.MinReclaim.String())
	}
}

func TestContainerFs(t *testing.T) {
	c := Config{
		EvictionHard:           settings{"nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "containerfs.available": "1Gi", "containerfs.inodesFree": "1"},
		EvictionSoft:           settings{"nodefs.available": "20%", "containerfs.available": "1Gi"},
		EvictionMinimumReclaim: settings{"nodefs.available": "1Gi"}, EvictionSoftGracePeriod: settings{"nodefs.available": "1m", "containerfs.available": "1s"},
	}
	p := compile(t, c, Options{})
	require.Equal(t, []string{"found containerfs.available for hard eviction. ignoring", "found containerfs.inodesFree for hard eviction. ignoring", "found containerfs.available for soft eviction. ignoring"}, p.Warnings())
	common := []string{"nodefs.available<10%", "nodefs.available<20% for 1m0s", "nodefs.inodesFree<5%", "imagefs.available<15%"}
	type test struct {
		name   string
		layout Layout
		want   []string
	}
	testkit.Run(t, []test{
		{"single follows nodefs", singleFilesystem, []string{"containerfs.available<10%", "containerfs.available<20% for 1m0s", "containerfs.inodesFree<5%"}},
		{"dedicated follows imagefs", dedicatedImages, []string{"containerfs.available<15%"}},
		{"split follows nodefs", splitImages, []string{"containerfs.available<10%", "containerfs.available<20% for 1m0s", "containerfs.inodesFree<5%"}},
		{"inconsistent has none", inconsistent, nil},
		{"not known yet", "", nil},
	}, func(t *testing.T, tc test) {
		require.Equal(t, append(append([]string(nil), common...), tc.want...), list(p, tc.layout))
	})
	single := p.Thresholds(singleFilesystem)
	require.Equal(t, "1Gi", single[4].MinReclaim.String(), "the copy for the cgroup has the same minimum reclaim")
}

func TestDefault(t *testing.T) {
	linux := settings{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "imagefs.inodesFree": "5%"}
	type test struct {
		name string
		c    Config
		os   string
		want settings
	}
	testkit.Run(t, []test{
		{"linux", Config{}, "linux", linux},
		{"windows", Config{}, "windows", settings{"memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%"}},
		{"other", Config{}, "plan9", settings{"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "15%"}},
		{"empty means none", Config{EvictionHard: settings{}}, "linux", settings{}},
		{"one set leaves the others unset", Config{EvictionHard: settings{"memory.available": "1Gi"}}, "linux", settings{"memory.available": "1Gi"}},
		{"merged", Config{EvictionHard: settings{"memory.available": "1Gi", "pid.available": "5%"}, MergeDefaultEvictionSettings: true}, "linux",
			settings{"memory.available": "1Gi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "imagefs.inodesFree": "5%", "pid.available": "5%"}},
	}, func(t *testing.T, tc test) {
		got := Default(tc.c, tc.os)
		require.Equal(t, tc.want, got.EvictionHard)
		require.Equal(t, 5*time.Minute, got.EvictionPressureTransitionPeriod)
		require.Equal(t, []string{"pods"}, got.EnforceNodeAllocatable)
		require.Nil(t, got.EvictionSoft)
		require.Nil(t, got.EvictionSoftGracePeriod)
		require.Nil(t, got.EvictionMinimumReclaim)
		require.Zero(t, got.EvictionMaxPodGracePeriod)
		require.NotContains(t, tc.c.EvictionHard, "imagefs.inodesFree", "the argument is not modified")
	})
	kept := Default(Config{EvictionPressureTransitionPeriod: time.Second, EnforceNodeAllocatable: []string{}}, "linux")
	require.Equal(t, time.Second, kept.EvictionPressureTransitionPeriod)
	require.Empty(t, kept.EnforceNodeAllocatable)
}

// The default thresholds of the documentation, which a kubelet without configuration has.
func TestDefaultThresholds(t *testing.T) {
	p := compile(t, Default(Config{}, "linux"), Options{})
	require.Equal(t, []string{"memory.available<100Mi", "allocatableMemory.available<100Mi", "nodefs.available<10%", "nodefs.inodesFree<5%", "imagefs.available<15%", "imagefs.inodesFree<5%",
		"containerfs.available<10%", "containerfs.inodesFree<5%"}, list(p, singleFilesystem))
	require.Empty(t, list(compile(t, Config{}, Options{}), singleFilesystem), "a kubelet that loads no configuration has none")
}

func TestParseFlags(t *testing.T) {
	type test struct {
		name, why, list string
		parse           func(string) (map[string]string, []string, error)
		want            settings
		warnings        []string
		err             string
	}
	testkit.Run(t, []test{
		{name: "spaces", why: "are no part of signal and value", list: " nodefs.available < 10% ,pid.available<1", parse: ParseThresholds, want: settings{"nodefs.available": "10%", "pid.available": "1"}},
		{name: "quantity and percentage", why: "the kubelet uses the last value", list: "memory.available<10%,memory.available<1Gi", parse: ParseThresholds, want: settings{"memory.available": "1Gi"},
			warnings: []string{"memory.available has the values 10% and 1Gi: the kubelet uses the last one, 1Gi"}},
		{name: "percentage and quantity", why: "the kubelet uses the last value", list: "memory.available<1Gi,memory.available<10%", parse: ParseThresholds, want: settings{"memory.available": "10%"},
			warnings: []string{"memory.available has the values 1Gi and 10%: the kubelet uses the last one, 10%"}},
		{name: "three values", why: "each value that is not used has a warning", list: "a<1,a<2,a<3", parse: ParseThresholds, want: settings{"a": "3"},
			warnings: []string{"a has the values 1 and 2: the kubelet uses the last one, 2", "a has the values 2 and 3: the kubelet uses the last one, 3"}},
		{name: "same value twice", why: "nothing is lost", list: "a<1,a<1", parse: ParseThresholds, want: settings{"a": "1"}},
		{name: "two operators", why: "the first one separates", list: "memory.available<<1Gi", parse: ParseThresholds, want: settings{"memory.available": "<1Gi"}},
		{name: "wrong operator", why: "only less than", list: "memory.available=500Mi", parse: ParseThresholds, err: "malformed pair, expect string<string"},
		{name: "grace", why: "settings have the equals sign", list: "memory.available=1m30s", parse: ParseSettings, want: settings{"memory.available": "1m30s"}},
		{name: "two graces", why: "the kubelet uses the last value", list: "memory.available=1m30s,memory.available=1m", parse: ParseSettings, want: settings{"memory.available": "1m"},
			warnings: []string{"memory.available has the values 1m30s and 1m: the kubelet uses the last one, 1m"}},
		{name: "grace with wrong operator", why: "only the equals sign", list: "memory.available<1m30s", parse: ParseSettings, err: "malformed pair, expect string=string"},
		{name: "empty", why: "no settings", list: "", parse: ParseSettings, want: settings{}},
	}, func(t *testing.T, c test) {
		m, warnings, err := c.parse(c.list)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, m)
		require.Equal(t, c.warnings, warnings)
	})
}

// A grace period that is refused is 0.
func TestParseGrace(t *testing.T) {
	for text, want := range map[string]time.Duration{"0s": 0, "1ns": 1, "1m30s": 90 * time.Second} {
		d, err := parseGrace("memory.available", text)
		require.NoError(t, err)
		require.Equal(t, want, d)
	}
	for text, want := range map[string]string{"-1ns": "invalid eviction grace period specified: -1ns, must be a positive value", "": `time: invalid duration ""`} {
		d, err := parseGrace("memory.available", text)
		require.EqualError(t, err, want)
		require.Zero(t, d)
	}
}

func TestAmount(t *testing.T) {
	type test struct {
		name            string
		percent         string
		capacity        int64
		float, decimals int64
	}
	testkit.Run(t, []test{
		{"10% of 100Gi", "10%", 100 * gi, 10737418400, 10737418240},
		{"10% of 10Gi", "10%", 10 * gi, 1073741840, 1073741824},
		{"5% of 102400 inodes", "5%", 102400, 5120, 5120},
		{"0.07% of 10000", "0.07%", 10000, 6, 7},
		{"33.3% of 1000", "33.3%", 1000, 333, 333},
		{"exponents stay floats", "1e1%", 10 * gi, 1073741840, 1073741840},
	}, func(t *testing.T, tc test) {
		p := compile(t, Config{EvictionHard: settings{"nodefs.available": tc.percent}}, Options{})
		v := p.Thresholds("")[0].Value
		q := v.amount(tc.capacity, Options{})
		require.Equal(t, tc.float, q.Value())
		q = v.amount(tc.capacity, Options{ExactPercent: true})
		require.Equal(t, tc.decimals, q.Value())
	})
	huge := compile(t, Config{EvictionHard: settings{"nodefs.available": "100.0%"}, EvictionMinimumReclaim: settings{"nodefs.available": "900%"}}, Options{}).Thresholds("")[0]
	q := huge.MinReclaim.amount(1<<62, Options{})
	require.Equal(t, int64(1<<63-1), q.Value(), "saturates")
}
