package cel_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/release"
)

// The worked examples stand in testdata/worked.txt, parted by empty lines. The first line of a case is its id and what it
// shows. The lines after it:
//
//	NAME(pool P, gen 1, of 1, driver drv, node n1, counters SET.COUNTER=N ...): DEVICE{...} ...   a slice
//	dedicated POOL/DEVICE, admin POOL/DEVICE, shared POOL/DEVICE NAME=AMOUNT                      what is allocated
//	class NAME `EXPRESSION`                                                                       a class beside c
//	CLAIM[REQUEST, REQUEST] match ATTRIBUTE (REQUEST, ...); distinct ATTRIBUTE                    a claim
//	corrected                                                                                     without v1.36's quirks
//	show reach | results                                                                          more in the answer
//	= ANSWER
//	in 1.36 = ANSWER                                                                              where v1.36 differs
//
// A slice belongs to the pool of its name and to node n1 unless the line says more: all, each, two, bad, "zone In a". A device
// may have attributes (numa=0), capacity (cap.mem=10Gi), counters (uses.SET.COUNTER=N), multi, binding conditions (bc=, bf=),
// taints and a reach (@n1, @all, @zone=a, @bad). A capacity may have a policy: cap.mem=10Gi|default=3Gi|values=1Gi:2Gi, or
// |min=1Gi|max=8Gi|step=2Gi. A request is NAME*COUNT or NAME:MODE, with "admin", "class NAME",
// "tolerates KEY OPERATOR VALUE EFFECT", a capacity <NAME AMOUNT> and a selector ?`EXPRESSION`, where $x is the driver's
// attribute x; NAME=FA(A | B) has alternatives. "empty" is a constraint without an attribute, ?“ a selector without CEL.
//
// In an answer "!" marks admin access, "+" a share with what it consumes, and ";" parts claims. "show reach" adds the node
// selector of each claim, "show results" the conditions and tolerations of each device.
func TestWorkedExamples(t *testing.T) {
	text, err := os.ReadFile("testdata/worked.txt")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, block := range strings.Split(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if strings.HasPrefix(lines[0], "##") {
			continue
		}
		id, why, _ := strings.Cut(strings.TrimPrefix(lines[0], "# "), " ")
		require.False(t, seen[id], id)
		require.NotEmpty(t, why, id)
		seen[id] = true
		t.Run(id, func(t *testing.T) {
			w := parse(t, lines[1:])
			for v, want := range map[release.Version]string{release.Current: w.want, release.V1_36: cmp.Or(w.before, w.want)} {
				if id == "U-36" && v == release.Current && !readsLists(t) {
					continue // docs/fidelity/versions, L1.9
				}
				w.options.Release = v
				got := w.answer()
				if prefix, ok := strings.CutPrefix(want, "prefix "); ok {
					require.True(t, strings.HasPrefix(got, "error "+prefix), "%s in %s: %s", why, v, got)
					continue
				}
				require.Equal(t, want, got, "%s in %s", why, v)
			}
		})
	}
	require.Greater(t, len(seen), 100)
}

// readsLists is true when the test links k8s.io v0.37 or later, which has DeviceTaintRule in resource.k8s.io/v1.
func readsLists(t *testing.T) bool {
	known := runtime.NewScheme()
	require.NoError(t, resourcev1.AddToScheme(known))
	return known.Recognizes(resourcev1.SchemeGroupVersion.WithKind("DeviceTaintRule"))
}

type worked struct {
	t       *testing.T
	slices  []*resourcev1.ResourceSlice
	running []*resourcev1.ResourceClaim
	classes map[string]*resourcev1.DeviceClass
	claims  []*resourcev1.ResourceClaim
	want    string
	before  string // in v1.37; "" is want
	options devices.Options

	showReach, showResults bool
}

const base = `cs(pool p, of 2, counters gpu0.mem=40Gi gpu0.slots=4)
ds(pool p, of 2): full{uses.gpu0.mem=40Gi,uses.gpu0.slots=4} h1{uses.gpu0.mem=20Gi,uses.gpu0.slots=2} h2{uses.gpu0.mem=20Gi,uses.gpu0.slots=2} q1{uses.gpu0.mem=10Gi,uses.gpu0.slots=1}`

var claimLine = regexp.MustCompile(`^(\w+)\[(.*)\](.*)$`)

func parse(t *testing.T, lines []string) *worked {
	w := &worked{t: t, classes: map[string]*resourcev1.DeviceClass{"c": {ObjectMeta: metav1.ObjectMeta{Name: "c"}}}}
	for _, line := range lines {
		switch word, rest, _ := strings.Cut(line, " "); {
		case word == "=":
			w.want = expand(rest)
		case strings.HasPrefix(line, "in 1.36 = "):
			w.before = expand(strings.TrimPrefix(line, "in 1.36 = "))
		case line == "corrected":
			w.options = devices.Options{}.Corrected()
		case line == "show reach":
			w.showReach = true
		case line == "show results":
			w.showResults = true
		case line == "base":
			for _, l := range strings.Split(base, "\n") {
				w.slice(l)
			}
		case word == "dedicated", word == "shared", word == "admin":
			w.allocated(word, rest)
		case word == "class":
			name, expression, _ := strings.Cut(rest, " ")
			w.classes[name] = &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{Selectors: selectors(expression)}}
		case claimLine.MatchString(line):
			w.claim(claimLine.FindStringSubmatch(line))
		default:
			w.slice(line)
		}
	}
	return w
}

var devicesFromTo = regexp.MustCompile(`(\S+=)(\D+)(\d+)\.\.(\d+)`)

// expand writes a=d1..3 out.
func expand(answer string) string {
	return devicesFromTo.ReplaceAllStringFunc(answer, func(s string) string {
		m := devicesFromTo.FindStringSubmatch(s)
		first, _ := strconv.Atoi(m[3])
		last, _ := strconv.Atoi(m[4])
		var out []string
		for k := first; k <= last; k++ {
			out = append(out, fmt.Sprintf("%s%s%d", m[1], m[2], k))
		}
		return strings.Join(out, " ")
	})
}

func (w *worked) slice(line string) {
	head, list, _ := strings.Cut(line, ": ")
	name, options, _ := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	n1 := "n1"
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec = resourcev1.ResourceSliceSpec{Driver: "drv", NodeName: &n1, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}
	yes := true
	in := func(key string, values ...string) *v1.NodeSelector {
		term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}}
		return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	}
	for _, o := range strings.Split(options, ", ") {
		f := strings.Fields(o)
		switch {
		case len(f) == 0:
		case f[0] == "pool":
			s.Spec.Pool.Name = f[1]
		case f[0] == "driver":
			s.Spec.Driver = f[1]
		case f[0] == "gen":
			s.Spec.Pool.Generation = w.number(f[1])
		case f[0] == "of":
			s.Spec.Pool.ResourceSliceCount = w.number(f[1])
		case f[0] == "node":
			s.Spec.NodeName = &f[1]
		case f[0] == "all":
			s.Spec.NodeName, s.Spec.AllNodes = nil, &yes
		case f[0] == "each":
			s.Spec.NodeName, s.Spec.PerDeviceNodeSelection = nil, &yes
		case f[0] == "bad":
			s.Spec.NodeName, s.Spec.NodeSelector = nil, in("zone", "a")
			s.Spec.NodeSelector.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Bad"
		case f[0] == "two":
			s.Spec.NodeName, s.Spec.NodeSelector = nil, in("zone", "a")
			s.Spec.NodeSelector.NodeSelectorTerms = append(s.Spec.NodeSelector.NodeSelectorTerms, in("zone", "b").NodeSelectorTerms...)
		case len(f) >= 3 && f[1] == "In":
			s.Spec.NodeName, s.Spec.NodeSelector = nil, in(f[0], f[2:]...)
		case f[0] == "counters":
			sets := map[string]int{}
			for _, c := range f[1:] {
				set, counter, amount := w.counter(c)
				at, ok := sets[set]
				if !ok {
					at = len(s.Spec.SharedCounters)
					sets[set] = at
					s.Spec.SharedCounters = append(s.Spec.SharedCounters, resourcev1.CounterSet{Name: set, Counters: map[string]resourcev1.Counter{}})
				}
				s.Spec.SharedCounters[at].Counters[counter] = amount
			}
		default:
			w.t.Fatalf("unknown option %q", o)
		}
	}
	for _, text := range strings.Fields(list) {
		name, options, _ := strings.Cut(strings.TrimSuffix(text, "}"), "{")
		if first, last, ok := strings.Cut(name, ".."); ok {
			for k := range w.number(last) {
				s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: strings.TrimSuffix(first, "1") + fmt.Sprint(k+1)})
			}
			continue
		}
		s.Spec.Devices = append(s.Spec.Devices, w.device(name, options, in))
	}
	w.slices = append(w.slices, s)
}

func (w *worked) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(w.t, err)
	return n
}

// counter reads SET.COUNTER=AMOUNT.
func (w *worked) counter(text string) (set, name string, c resourcev1.Counter) {
	path, amount, _ := strings.Cut(text, "=")
	set, name, _ = strings.Cut(path, ".")
	return set, name, resourcev1.Counter{Value: resource.MustParse(amount)}
}

func (w *worked) device(name, options string, in func(key string, values ...string) *v1.NodeSelector) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	yes := true
	for _, o := range strings.Split(options, ",") {
		key, value, _ := strings.Cut(o, "=")
		switch {
		case o == "":
		case o == "multi":
			d.AllowMultipleAllocations = &yes
		case o == "binds":
			d.BindsToNode = &yes
		case o == "bc=":
			d.BindingConditions = []string{}
		case key == "bc":
			d.BindingConditions = []string{value}
		case key == "bf":
			d.BindingFailureConditions = []string{value}
		case key == "taint":
			what, effect, _ := strings.Cut(value, ":")
			k, v, _ := strings.Cut(what, "=")
			d.Taints = append(d.Taints, resourcev1.DeviceTaint{Key: k, Value: v, Effect: resourcev1.DeviceTaintEffect(effect)})
		case o == "@bad":
			d.NodeSelector = in("zone", "a")
			d.NodeSelector.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Bad"
		case o == "@all":
			d.AllNodes = &yes
		case strings.HasPrefix(key, "@") && value != "":
			d.NodeSelector = in(key[1:], value)
		case strings.HasPrefix(key, "@"):
			node := key[1:]
			d.NodeName = &node
		case strings.HasPrefix(key, "cap."):
			if d.Capacity == nil {
				d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
			}
			amount, policy, _ := strings.Cut(value, "|")
			d.Capacity[resourcev1.QualifiedName(key[4:])] = resourcev1.DeviceCapacity{Value: resource.MustParse(amount), RequestPolicy: w.policy(policy)}
		case strings.HasPrefix(key, "uses."):
			set, counter, amount := w.counter(o[5:])
			use := resourcev1.DeviceCounterConsumption{CounterSet: set, Counters: map[string]resourcev1.Counter{counter: amount}}
			if n := len(d.ConsumesCounters); n > 0 && d.ConsumesCounters[n-1].CounterSet == set {
				d.ConsumesCounters[n-1].Counters[counter] = amount
			} else {
				d.ConsumesCounters = append(d.ConsumesCounters, use)
			}
		default:
			d.Attributes[resourcev1.QualifiedName(key)] = attribute(value)
		}
	}
	return d
}

// policy reads "default=A|values=A:B|min=A|max=A|step=A".
func (w *worked) policy(text string) *resourcev1.CapacityRequestPolicy {
	if text == "" {
		return nil
	}
	p := &resourcev1.CapacityRequestPolicy{}
	for _, o := range strings.Split(text, "|") {
		key, value, _ := strings.Cut(o, "=")
		if key != "default" && key != "values" && p.ValidRange == nil {
			p.ValidRange = &resourcev1.CapacityRequestPolicyRange{}
		}
		for _, amount := range strings.Split(value, ":") {
			q := resource.MustParse(amount)
			switch key {
			case "default":
				p.Default = &q
			case "values":
				p.ValidValues = append(p.ValidValues, q)
			case "min":
				p.ValidRange.Min = &q
			case "max":
				p.ValidRange.Max = &q
			case "step":
				p.ValidRange.Step = &q
			default:
				w.t.Fatalf("unknown policy %q", o)
			}
		}
	}
	return p
}

func attribute(value string) resourcev1.DeviceAttribute {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return resourcev1.DeviceAttribute{IntValue: &n}
	}
	if value == "[1]" {
		return resourcev1.DeviceAttribute{IntValues: []int64{1}}
	}
	if strings.HasPrefix(value, "v") {
		version := value[1:]
		return resourcev1.DeviceAttribute{VersionValue: &version}
	}
	return resourcev1.DeviceAttribute{StringValue: &value}
}

func (w *worked) allocated(how, text string) {
	f := strings.Fields(text)
	pool, device, _ := strings.Cut(f[0], "/")
	r := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: "drv", Pool: pool, Device: device}
	switch how {
	case "admin":
		yes := true
		r.AdminAccess = &yes
	case "shared":
		id := types.UID("x")
		r.ShareID = &id
		for _, amount := range f[1:] {
			name, value, _ := strings.Cut(amount, "=")
			r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{resourcev1.QualifiedName(name): resource.MustParse(value)}
		}
	}
	c := &resourcev1.ResourceClaim{}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	w.running = append(w.running, c)
}

var quotedExpression = regexp.MustCompile("`[^`]*`")

// selectors reads one expression or several of them, each in backquotes.
func selectors(text string) (out []resourcev1.DeviceSelector) {
	for _, expression := range quotedExpression.FindAllString(text, -1) {
		if expression == "``" {
			out = append(out, resourcev1.DeviceSelector{})
			continue
		}
		expression = regexp.MustCompile(`\$(\w+)`).ReplaceAllString(strings.Trim(expression, "`"), `device.attributes["drv"].$1`)
		out = append(out, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}})
	}
	return out
}

var (
	firstAvailable = regexp.MustCompile(`^(\w+)=FA\((.*)\)$`)
	single         = regexp.MustCompile("^(\\w+)(?:\\*(\\d+)|:(\\w+))?( admin)?(?: class (\\w+|\"\"))?(?: tolerates ([^<?]+))?(?:<(\\S+) (\\S+)>)?((?:\\?`[^`]*`)*)$")
	constraintText = regexp.MustCompile(`^(match|distinct) (\S+)(?: \((.*)\))?$`)
)

// requestTexts splits the requests of a claim at commas outside of expressions.
func requestTexts(text string) (out []string) {
	quoted, begin := false, 0
	for k := range len(text) {
		switch {
		case text[k] == '`':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[k:], ", "):
			out = append(out, text[begin:k])
			begin = k + len(", ")
		}
	}
	return append(out, text[begin:])
}

func (w *worked) claim(m []string) {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: m[1]}}
	for _, text := range requestTexts(m[2]) {
		if text == "" {
			continue
		}
		if fa := firstAvailable.FindStringSubmatch(text); fa != nil {
			r := resourcev1.DeviceRequest{Name: fa[1]}
			for _, alternative := range strings.Split(fa[2], " | ") {
				name, e := w.request(alternative)
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{Name: name, DeviceClassName: e.DeviceClassName, Selectors: e.Selectors,
					AllocationMode: e.AllocationMode, Count: e.Count, Tolerations: e.Tolerations, Capacity: e.Capacity})
			}
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, r)
			continue
		}
		name, e := w.request(text)
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: name, Exactly: &e})
	}
	for _, text := range strings.Split(m[3], ";") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if strings.TrimSpace(text) == "empty" {
			c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, resourcev1.DeviceConstraint{})
			continue
		}
		f := constraintText.FindStringSubmatch(strings.TrimSpace(text))
		require.NotNil(w.t, f, text)
		x := resourcev1.DeviceConstraint{}
		name := resourcev1.FullyQualifiedName(f[2])
		if !strings.Contains(f[2], "/") {
			name = "drv/" + name
		}
		if f[1] == "match" {
			x.MatchAttribute = &name
		} else {
			x.DistinctAttribute = &name
		}
		if f[3] != "" {
			x.Requests = strings.Split(f[3], ", ")
		}
		c.Spec.Devices.Constraints = append(c.Spec.Devices.Constraints, x)
	}
	w.claims = append(w.claims, c)
}

func (w *worked) request(text string) (string, resourcev1.ExactDeviceRequest) {
	m := single.FindStringSubmatch(text)
	require.NotNil(w.t, m, text)
	e := resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}
	if m[2] != "" {
		e.Count = w.number(m[2])
	}
	if m[3] != "" {
		e.AllocationMode, e.Count = resourcev1.DeviceAllocationMode(m[3]), 0
	}
	if m[4] != "" {
		yes := true
		e.AdminAccess = &yes
	}
	if m[5] != "" {
		e.DeviceClassName = strings.Trim(m[5], `"`)
	}
	if f := append(strings.Fields(m[6]), "", "", ""); f[0] != "" {
		e.Tolerations = []resourcev1.DeviceToleration{{Key: strings.Trim(f[0], `"`), Operator: resourcev1.DeviceTolerationOperator(f[1]), Value: f[2], Effect: resourcev1.DeviceTaintEffect(f[3])}}
	}
	if m[7] != "" {
		e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{resourcev1.QualifiedName(m[7]): resource.MustParse(m[8])}}
	}
	if m[9] != "" {
		e.Selectors = selectors(m[9])
	}
	return m[1], e
}

// answer prints what package devices says about node n1. The driver is left out where it is drv, the pool where there is one.
func (w *worked) answer() string {
	ledger := devices.NewLedger(devices.NewInventory(w.slices), w.running...)
	class := func(name string) *resourcev1.DeviceClass { return w.classes[name] }
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "a", "rack": "1"}}}
	results, ok, err := devices.NewAllocator(ledger, class, cel.NewCompiler(), w.options).Compile(w.claims...).Allocate(node)
	if err != nil {
		return "error " + err.Error()
	}
	if !ok {
		return "none"
	}
	pools := map[[2]string]bool{}
	for _, s := range w.slices {
		pools[[2]string{s.Spec.Driver, s.Spec.Pool.Name}] = true
	}
	var out []string
	for _, r := range results {
		var list []string
		for _, d := range r.Devices.Results {
			text := d.Device
			switch {
			case d.Driver != "drv":
				text = d.Driver + "/" + d.Pool + "/" + text
			case len(pools) > 1:
				text = d.Pool + "/" + text
			}
			text = d.Request + "=" + text
			if d.AdminAccess != nil {
				text += "!"
			}
			if d.ShareID != nil {
				text += "+"
			}
			for name, amount := range d.ConsumedCapacity {
				text += string(name) + ":" + amount.String()
			}
			if w.showResults {
				text += more(&d)
			}
			list = append(list, text)
		}
		if w.showReach {
			list = append(list, "on "+reachOf(r.NodeSelector))
		}
		out = append(out, strings.Join(list, " "))
	}
	return strings.Join(out, "; ")
}

// more prints the conditions and tolerations of a result.
func more(r *resourcev1.DeviceRequestAllocationResult) string {
	var out []string
	if len(r.BindingConditions)+len(r.BindingFailureConditions) > 0 {
		out = append(out, fmt.Sprintf("bc=%v bf=%v", r.BindingConditions, r.BindingFailureConditions))
	}
	for _, x := range r.Tolerations {
		out = append(out, strings.TrimSpace(fmt.Sprintf("tolerates %s %s %s %s", x.Key, x.Operator, x.Value, x.Effect)))
	}
	if out == nil {
		return ""
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func reachOf(s *v1.NodeSelector) string {
	if s == nil {
		return "all nodes"
	}
	var out []string
	for _, term := range s.NodeSelectorTerms {
		for _, r := range term.MatchFields {
			out = append(out, strings.Join(r.Values, " "))
		}
		for _, r := range term.MatchExpressions {
			out = append(out, fmt.Sprintf("%s %s %s", r.Key, r.Operator, strings.Join(r.Values, " ")))
		}
	}
	return strings.Join(out, ", ")
}
