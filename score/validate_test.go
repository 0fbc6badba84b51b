package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

func TestValidateFitArgs(t *testing.T) {
	with := func(s score.Strategy) score.FitArgs { return defaulted(score.FitArgs{ScoringStrategy: &s}) }
	const types = `: supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"`
	const shape = "scoringStrategy.requestedToCapacityRatio.shape"
	type test struct {
		name string
		args score.FitArgs
		want []string
	}
	testkit.Run(t, []test{
		{"default", defaulted(score.FitArgs{}), nil},
		{"strategy nil", score.FitArgs{}, []string{"scoringStrategy: Required value: ScoringStrategy field is required"}},
		{"strategy without type", with(score.Strategy{}), []string{`scoringStrategy.type: Unsupported value: ""` + types}},
		{"type Foo", with(score.Strategy{Type: "Foo"}), []string{`scoringStrategy.type: Unsupported value: "Foo"` + types}},
		{"weight -1", with(score.Strategy{Type: score.LeastAllocated, Resources: weighted("cpu", -1)}), []string{"scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range (0, 100]"}},
		{"weight 101", with(score.Strategy{Type: score.MostAllocated, Resources: weighted("cpu", 1, "memory", 101)}), []string{"scoringStrategy.resources[1].weight: Invalid value: 101: resource weight of memory not in valid range (0, 100]"}},
		{"ratio without parameter", with(score.Strategy{Type: score.RequestedToCapacityRatio}), []string{"scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio"}},
		{"parameter with another type", with(score.Strategy{Type: score.LeastAllocated, RequestedToCapacityRatio: &score.Ratio{}}), []string{"scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio"}},
		{"empty shape", with(ratio(nil)), []string{shape + ": Required value: at least one point must be specified"}},
		{"shape 50 50 20", with(ratio(nil, 50, 1, 50, 2, 20, 3)), []string{shape + "[1].utilization: Invalid value: 50: values must be sorted in increasing order"}},
		{"utilization -1", with(ratio(nil, -1, 1)), []string{shape + "[0].utilization: Invalid value: -1: not in valid range [0, 100]"}},
		{"utilization 101", with(ratio(nil, 101, 1)), []string{shape + "[0].utilization: Invalid value: 101: not in valid range [0, 100]"}},
		{"score 11", with(ratio(nil, 1, 11)), []string{shape + "[0].score: Invalid value: 11: not in valid range [0, 10]"}},
		{"score -1", with(ratio(nil, 1, -1)), []string{shape + "[0].score: Invalid value: -1: not in valid range [0, 10]"}},
		{"the oldest document's shape with score 100", with(ratio(nil, 0, 100, 100, 0)), []string{shape + "[0].score: Invalid value: 100: not in valid range [0, 10]"}},
		{"ignored resource bad name", defaulted(score.FitArgs{IgnoredResources: []string{"bad name"}}), []string{
			`ignoredResources[0]: Invalid value: "bad name": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{"ignored group with a slash", defaulted(score.FitArgs{IgnoredResourceGroups: []string{"example.com/y"}}), []string{`ignoredResourceGroups[0]: Invalid value: "example.com/y": resource group name can't contain '/'`}},
		{"ignored group without a letter", defaulted(score.FitArgs{IgnoredResourceGroups: []string{"-"}}), []string{
			`ignoredResourceGroups[0]: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		{"order of checks", score.FitArgs{IgnoredResourceGroups: []string{"a/b"}, ScoringStrategy: &score.Strategy{Type: "Foo", Resources: weighted("cpu", 0), RequestedToCapacityRatio: &score.Ratio{}}}, []string{
			`ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can't contain '/'`,
			`scoringStrategy.type: Unsupported value: "Foo"` + types,
			"scoringStrategy.resources[0].weight: Invalid value: 0: resource weight of cpu not in valid range (0, 100]",
			"scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio",
		}},
		{"duplicate and unknown resources pass", with(score.Strategy{Type: score.LeastAllocated, Resources: weighted("cpu", 1, "cpu", 100, "CPU", 1)}), nil},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, texts(score.ValidateFitArgs(tc.args, nil)))
		if tc.args.ScoringStrategy == nil {
			return
		}
		_, err := score.CompileAllocation(pod(""), tc.args)
		if tc.want == nil {
			require.NoError(t, err)
		} else if tc.name != "order of checks" {
			require.EqualError(t, err, tc.want[0])
		}
	})
	require.Equal(t, []string{`args.scoringStrategy.type: Unsupported value: ""` + types}, texts(score.ValidateFitArgs(with(score.Strategy{}), field.NewPath("args"))))
}

// defaulted sets the defaults of the configuration API.
func defaulted(args score.FitArgs) score.FitArgs {
	if args.ScoringStrategy == nil {
		args.ScoringStrategy = &score.Strategy{Type: score.LeastAllocated}
	}
	for i := range args.ScoringStrategy.Resources {
		r := &args.ScoringStrategy.Resources[i]
		if r.Weight == 0 {
			r.Weight = 1
		}
	}
	return args
}

func texts(errs field.ErrorList) []string {
	var list []string
	for _, e := range errs {
		list = append(list, e.Error())
	}
	return list
}

func TestValidateBalanceArgs(t *testing.T) {
	type test struct {
		name string
		list []score.Resource
		want string
	}
	testkit.Run(t, []test{
		{"balance weight 2", weighted("cpu", 2), "args.resources[0].weight: Invalid value: 2: must be 1"},
		{"balance duplicate", weighted("cpu", 1, "cpu", 1), `args.resources[1].name: Duplicate value: "cpu"`},
		{"balance weight 1", weighted("cpu", 1), ""},
	}, func(t *testing.T, tc test) {
		args := score.BalanceArgs{Resources: tc.list}
		err := score.ValidateBalanceArgs(args, field.NewPath("args")).ToAggregate()
		_, compiled := score.CompileBalance(pod("cpu=1"), args)
		if tc.want == "" {
			require.NoError(t, err)
			require.NoError(t, compiled)
			return
		}
		require.EqualError(t, err, tc.want)
		require.Error(t, compiled)
	})
}
