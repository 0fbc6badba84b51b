package edit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// removal returns the notation that removes the taint.
func removal(t v1.Taint) string { return (&v1.Taint{Key: t.Key, Effect: t.Effect}).ToString() + "-" }

func TestParse(t *testing.T) {
	const alphanumeric = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
	type test struct {
		name, specs string
		add, remove string
		err         string // the beginning of the error
		why         string
	}
	cases := []test{
		{"T-90 add", "key1=value1:NoSchedule", "key1=value1:NoSchedule", "", "", "an addition"},
		{"T-90 remove", "key1=value1:NoSchedule-", "", "key1:NoSchedule-", "", "the value of a removal is dropped"},
		{"T-91 effect", "key:NoSchedule-", "", "key:NoSchedule-", "", "one effect of the key"},
		{"T-91 key", "key-", "", "key-", "", "all effects of the key"},
		{"T-92", "key:NoSchedule", "key:NoSchedule", "", "", "no value"},
		{"T-92 empty", "key=:NoSchedule", "key:NoSchedule", "", "", "an empty value"},
		{"T-93", "key", "", "", "invalid taint spec: key", "an addition needs an effect"},
		{"T-94", "key=v", "", "", "invalid taint spec: key=v, " + alphanumeric, "without ':' all is the key"},
		{"T-94 removal", "key=v-", "", "", "invalid taint spec: key=v, " + alphanumeric, "without ':' all is the key"},
		{"T-95", "key:", "", "", "invalid taint effect: , unsupported taint effect", "an empty effect"},
		{"T-95 value", "key=v:", "", "", "invalid taint effect: , unsupported taint effect", "an empty effect"},
		{"T-95 removal", "key:-", "", "", "invalid taint effect: , unsupported taint effect", "an empty effect"},
		{"T-96 equals", "a=b=c:NoSchedule", "", "", "invalid taint spec: a=b=c:NoSchedule", "two '='"},
		{"T-96 colons", "a:b:NoSchedule", "", "", "invalid taint spec: a:b:NoSchedule", "two ':'"},
		{"T-97", "a=b:noschedule", "", "", "invalid taint effect: noschedule, unsupported taint effect", "effects are case-sensitive"},
		{"T-98 value", "=v:NoSchedule", "", "", "invalid taint spec: =v:NoSchedule, name part must be non-empty; name part must consist of", "no key"},
		{"T-98 effect", ":NoSchedule", "", "", "invalid taint spec: :NoSchedule, name part must be non-empty; ", "no key"},
		{"T-98 removal", "-", "", "", "invalid taint spec: , name part must be non-empty; ", "no key"},
		{"T-99", "a=b:NoSchedule a=c:NoSchedule", "", "", "duplicated taints with the same key and effect: {a c NoSchedule <nil>}", "the second one is named"},
		{"T-100", "key=v:NoSchedule--", "", "", "invalid taint effect: NoSchedule-, unsupported taint effect", "one '-' is cut"},
		{"several", "a:NoSchedule b=1:NoExecute- a:NoExecute c- c-", "a:NoSchedule a:NoExecute", "b:NoExecute- c- c-", "", "removals may repeat"},
		{"bad value", "a=b@:NoSchedule", "", "", "invalid taint spec: a=b@:NoSchedule, a valid label must be an empty string or consist of", "a label value"},
		{"bad value of removal", "a=b@:NoSchedule-", "", "", "invalid taint spec: a=b@:NoSchedule, a valid label must be", "the value is checked all the same"},
		{"long name", strings.Repeat("k", 64) + ":NoSchedule", "", "", "invalid taint spec: " + strings.Repeat("k", 64) + ":NoSchedule, name part must be no more than 63 bytes", "63 at most"},
		{"prefix", "example.com/key=v:PreferNoSchedule", "example.com/key=v:PreferNoSchedule", "", "", "a qualified name"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		command, err := Parse(strings.Fields(c.specs))
		if c.err != "" {
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.err), "%s: %v", c.why, err)
			if !strings.HasSuffix(c.err, "part") && !strings.Contains(c.err, ", ") {
				require.Equal(t, c.err, err.Error())
			}
			require.Zero(t, command)
			if fields := strings.Fields(c.specs); len(fields) == 1 {
				_, removal, err := ParseOne(c.specs)
				require.Error(t, err)
				require.Equal(t, strings.HasSuffix(c.specs, "-"), removal, "what the taint was to be is known all the same")
			}
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.add, formats(command.Add))
		var removals []string
		for _, r := range command.Remove {
			require.Empty(t, r.Value)
			removals = append(removals, removal(r))
		}
		require.Equal(t, c.remove, strings.Join(removals, " "))
	})
	_, _, err := ParseOne("")
	require.ErrorContains(t, err, "invalid taint spec: , name part must be non-empty", "T-98: an empty token")
}

// A taint that was parsed prints as the text that it was parsed from.
func TestFormat(t *testing.T) {
	for _, text := range []string{"k=v:NoSchedule", "k:NoExecute", "example.com/k=v:PreferNoSchedule"} {
		in, removal, err := ParseOne(text)
		require.NoError(t, err)
		require.False(t, removal)
		require.Equal(t, text, in.ToString())
	}
	in, removal, err := ParseOne("k=:NoExecute")
	require.NoError(t, err)
	require.False(t, removal)
	require.Equal(t, "k:NoExecute", in.ToString(), "an empty value is none")
}

// notation returns the text of a taint as users write it, now and then with a mistake.
func notation(b *testkit.Bytes) string {
	text := testkit.Pick(b, "k", "key1", "x.io/k", "a-b", "A.b_c")
	if b.OneIn(2) {
		text += "=" + testkit.Pick(b, "", "v", "value1", "1.5", "a_b")
	}
	if text += testkit.Pick(b, ":NoSchedule", ":PreferNoSchedule", ":NoExecute"); b.OneIn(3) {
		text += "-"
	}
	if b.OneIn(6) {
		text += testkit.Pick(b, "-", ":", "=", " ", ":NoSchedule", "x")
	}
	return text
}

// checkParse holds that what is parsed prints as a text that parses to the same, and that errors leave nothing behind. It reports
// whether the text was a taint.
func checkParse(t *testing.T, s string) bool {
	parsed, removed, err := ParseOne(s)
	if err != nil {
		require.Zero(t, parsed)
		return false
	}
	text := parsed.ToString()
	if removed {
		text = removal(parsed)
	}
	again, removedAgain, err := ParseOne(text)
	require.NoError(t, err)
	require.Equal(t, parsed, again)
	require.Equal(t, removed, removedAgain)
	return true
}

func TestNotations(t *testing.T) {
	const inputs = 1000
	parsed := 0
	for seed := range uint64(inputs) {
		if checkParse(t, notation(testkit.NewBytes(testkit.RandomBytes(seed, 8)))) {
			parsed++
		}
	}
	t.Logf("%d of %d texts are taints", parsed, inputs)
	require.Greater(t, 2*parsed, inputs)
	require.Less(t, parsed, inputs)
	for _, s := range []string{"key1=value1:NoSchedule", "key:NoSchedule-", "key-", "a=b=c:NoSchedule", "k=:NoExecute", "x.io/k=v:PreferNoSchedule-"} {
		checkParse(t, s)
	}
}

func FuzzParse(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(testkit.RandomBytes(seed, 8))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkParse(t, notation(testkit.NewBytes(data))) })
}

func TestEdit(t *testing.T) {
	type test struct {
		name, old, specs string
		overwrite        bool
		want             string
		outcome          string
		err              string
		why              string
	}
	cases := []test{
		{"add", "a:NoSchedule", "b=1:NoExecute c:NoSchedule", false, "b=1:NoExecute c:NoSchedule a:NoSchedule", "tainted", "", "additions first, in the given order"},
		{"remove", "a:NoSchedule b:NoSchedule", "a:NoSchedule-", false, "b:NoSchedule", "untainted", "", "the rest stays"},
		{"remove key", "a:NoSchedule b:NoSchedule a:NoExecute", "a-", false, "b:NoSchedule", "untainted", "", "all effects of the key"},
		{"add and remove", "a:NoSchedule", "b:NoSchedule a-", false, "b:NoSchedule", "modified", "", "added and removed"},
		{"overwrite", "a=1:NoSchedule z:NoExecute", "a=2:NoSchedule", true, "a=2:NoSchedule z:NoExecute", "modified", "", "replaced"},
		{"overwrite nothing", "", "a:NoSchedule", true, "a:NoSchedule", "modified", "", "the word is modified with overwrite"},
		{"there already", "a=1:NoSchedule b:NoExecute", "a=2:NoSchedule b:NoExecute c:NoSchedule", false, "", "",
			"node node1 already has a,b taint(s) with same effect(s) and --overwrite is false", "both are named"},
		{"one there already", "a=1:NoSchedule", "a=2:NoSchedule", false, "", "", "node node1 already has a taint(s) with same effect(s) and --overwrite is false", "an addition replaces nothing"},
		{"conflict", "", "a=1:NoSchedule a:NoSchedule-", false, "", "",
			"can not both modify and remove the following taint(s) in the same command: a=NoSchedule", "the same key and effect"},
		{"conflict with key", "", "a=1:NoSchedule a-", false, "", "",
			"can not both modify and remove the following taint(s) in the same command: a=", "a removal without effect meets any effect"},
		{"other effect", "a:NoExecute", "a=1:NoSchedule a:NoExecute-", false, "a=1:NoSchedule", "modified", "", "no conflict"},
		{"not found", "a:NoSchedule", "b:NoSchedule- a- c-", false, "", "", `[taint "b:NoSchedule" not found, taint "c" not found]`, "all are named, nothing changes"},
		{"one not found", "a:NoSchedule", "b:NoSchedule-", false, "", "", `taint "b:NoSchedule" not found`, "nothing changes"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		n := node(strings.Fields(c.old)...)
		n.Name = "node1"
		command, err := Parse(strings.Fields(c.specs))
		command.Overwrite = c.overwrite
		require.NoError(t, err)
		testkit.Unchanged(t, func() {
			got, outcome, err := command.Apply(n)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Nil(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, formats(got))
			require.Equal(t, c.outcome, outcome)
		}, n)
	})
}

// What a command and AddOrUpdate return is a new list: a later write into it changes neither the command nor the node.
func TestNewLists(t *testing.T) {
	old := make([]v1.Taint, 1, 4) // with room behind the last taint
	old[0] = v1.Taint{Key: "a", Effect: v1.TaintEffectNoSchedule}
	c := Command{Add: append(make([]v1.Taint, 0, 4), v1.Taint{Key: "b", Effect: v1.TaintEffectNoSchedule})}
	n := node()
	n.Spec.Taints = old
	list, _, err := c.Apply(n)
	require.NoError(t, err)
	list[0].Key, list[1].Key = "x", "y"
	replaced := AddOrUpdate(old, v1.Taint{Key: "a", Value: "v", Effect: v1.TaintEffectNoSchedule})
	require.Equal(t, "v", replaced[0].Value)
	require.Equal(t, v1.Taint{Key: "a", Effect: v1.TaintEffectNoSchedule}, old[0])
	require.Equal(t, "b", c.Add[0].Key)
	require.Empty(t, c.Add[:2][1], "what follows the list stays too")
}
