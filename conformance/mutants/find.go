package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutation is one mistake.
type mutation struct {
	number   int // from 1; 0 while the mutation is not part of a binary
	file     *source
	function string // with its receiver
	line     int
	operator string
	old, new string
	nth      int // which of the mutations of the function with the same operator and texts, from 1
	edits    []edit
	never    bool // an entry of the folder equivalent says that no input reaches the place
}

// edit replaces the text of a node. wrap gets the mutation's number and the text of the node, in which other mutations may
// have been written already.
type edit struct {
	from, to int
	wrap     func(number int, text string) string
}

// The operators.
const (
	relation = "relation" // == and != for each other, < for >, + for -, * for /
	boundary = "boundary" // < for <=
	term     = "term"     // a term of a condition or sum is dropped
	negation = "negation" // a condition the other way round
	byOne    = "constant" // an integer one larger or smaller
	swap     = "swap"     // two arguments exchanged
	deletion = "delete"   // a statement left out
	result   = "return"   // another result
)

func (m *mutation) String() string {
	return fmt.Sprintf("%s:%d %s [%s %d] %s", m.file.path, m.line, m.function, m.operator, m.nth, m.change())
}

func (m *mutation) change() string { return flat(m.old) + " -> " + flat(m.new) }

// key names the mutation as the folder equivalent does: without the line, which other changes move.
func (m *mutation) key() string {
	return strings.Join([]string{m.file.path, m.function, m.operator, m.change(), fmt.Sprint(m.nth)}, "\t")
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// finder collects the mutations of one function.
type finder struct {
	*unit
	file     *source
	function string
	out      []*mutation
	skip     map[ast.Node]bool // constants that must stay constants, sizes that only decide about memory, values beside an error
	fixed    map[ast.Expr]bool // where something is written
}

// find returns all mutations of the package's functions, in the order of the source.
func (u *unit) find() []*mutation {
	var out []*mutation
	for _, f := range u.files {
		if ast.IsGenerated(f.tree) {
			continue
		}
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				x := &finder{unit: u, file: f, function: nameOf(fn), skip: map[ast.Node]bool{}, fixed: map[ast.Expr]bool{}}
				x.ends(fn)
				x.locks(fn)
				ast.Inspect(fn.Body, x.visit)
				out = append(out, x.out...)
			}
		}
	}
	seen := map[string]int{}
	for _, m := range out {
		k := m.key()
		seen[k]++
		m.nth = seen[k]
	}
	return out
}

func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

func (x *finder) text(n ast.Node) string { return x.file.of(x.fset, n) }

func (x *finder) add(n ast.Node, operator, old, new string, edits ...edit) {
	x.out = append(x.out, &mutation{file: x.file, function: x.function, line: x.fset.Position(n.Pos()).Line, operator: operator, old: old, new: new, edits: edits})
}

func (x *finder) edit(n ast.Node, wrap func(number int, text string) string) edit {
	from, to := x.file.at(x.fset, n)
	return edit{from, to, wrap}
}

func (x *finder) visit(n ast.Node) bool {
	if x.skip[n] {
		return false
	}
	switch n := n.(type) {
	case nil:
		return false
	case *ast.BlockStmt:
		x.statements(n.List)
	case *ast.CaseClause:
		x.statements(n.Body)
	case *ast.CommClause:
		x.statements(n.Body)
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			return false
		}
	case *ast.ArrayType:
		if n.Len != nil {
			x.skip[n.Len] = true
		}
	case *ast.AssignStmt:
		x.keep(n.Lhs...)
	case *ast.IncDecStmt:
		x.keep(n.X)
	case *ast.RangeStmt:
		x.keep(n.Key, n.Value)
	case *ast.SwitchStmt:
		x.arms(n)
	case *ast.SelectorExpr:
		x.field(n)
	case *ast.Ident:
		x.variable(n)
	case *ast.CompositeLit:
		x.components(n)
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				x.skip[kv.Key] = true
			}
		}
	case *ast.ReturnStmt:
		if k := len(n.Results) - 1; k > 0 && x.text(n.Results[k]) == "false" { // nobody reads a value that is not there
			for _, e := range n.Results[:k] {
				x.skip[e] = true
			}
		}
	case *ast.IfStmt:
		if b, ok := n.Cond.(*ast.BinaryExpr); ok && b.Op == token.NEQ && x.isError(b.X) && x.info.Types[b.Y].IsNil() {
			for _, s := range n.Body.List {
				if r, ok := s.(*ast.ReturnStmt); ok && len(r.Results) > 1 && x.isError(r.Results[len(r.Results)-1]) {
					x.beside(r)
				}
			}
		}
		x.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			x.condition(n.Cond)
		}
	case *ast.CallExpr:
		x.call(n)
		x.copied(n)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			x.keep(n.X)
		}
		if n.Op == token.NOT {
			x.flip(n, negation, "!"+x.text(n.X), x.text(n.X))
		}
	case *ast.BinaryExpr:
		x.binary(n)
	}
	if e, ok := n.(ast.Expr); ok {
		return x.constant(e)
	}
	return true
}

func (x *finder) isError(e ast.Expr) bool {
	t := x.info.Types[e].Type
	return t != nil && t.String() == "error"
}

// failure reports whether an expression makes an error.
func (x *finder) failure(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	return ok && slices.Contains([]string{"fmt.Errorf", "errors.New"}, x.text(c.Fun))
}

// beside leaves out the values beside an error, which callers do not read.
func (x *finder) beside(r *ast.ReturnStmt) {
	for _, e := range r.Results[:len(r.Results)-1] {
		x.skip[e] = true
	}
}

// condition drops a condition that is one term: it always holds, or never.
func (x *finder) condition(e ast.Expr) {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		return
	}
	x.force(e, true, x.text(e), "true")
	x.force(e, false, x.text(e), "false")
}

// force makes a condition always true or always false.
func (x *finder) force(e ast.Expr, value bool, old, new string) {
	if x.info.Types[e].Value != nil {
		return
	}
	x.add(e, term, old, new, x.edit(e, func(number int, text string) string {
		if value {
			return fmt.Sprintf("(mutantOn(%d) || (%s))", number, text)
		}
		return fmt.Sprintf("(!mutantOn(%d) && (%s))", number, text)
	}))
}

func (x *finder) flip(e ast.Expr, operator, old, new string) {
	if x.info.Types[e].Value != nil {
		return
	}
	x.add(e, operator, old, new, x.edit(e, func(number int, text string) string {
		return fmt.Sprintf("(mutantOn(%d) != (%s))", number, text)
	}))
}

// instead evaluates another condition.
func (x *finder) instead(e ast.Expr, operator, new string) {
	x.add(e, operator, x.text(e), new, x.edit(e, func(number int, text string) string {
		return fmt.Sprintf("(mutantOn(%d) && (%s) || !mutantOn(%d) && (%s))", number, new, number, text)
	}))
}

var (
	boundaries = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
	relations  = map[token.Token]string{token.LSS: ">", token.LEQ: ">=", token.GTR: "<", token.GEQ: "<=", token.EQL: "!=", token.NEQ: "=="}
	arithmetic = map[token.Token]string{token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*", token.OR: "&", token.AND: "|"}
)

func (x *finder) binary(b *ast.BinaryExpr) {
	if x.info.Types[b].Value != nil {
		return
	}
	left, right := x.text(b.X), x.text(b.Y)
	switch b.Op {
	case token.LAND, token.LOR:
		x.force(b.X, b.Op == token.LAND, x.text(b), right)
		x.force(b.Y, b.Op == token.LAND, x.text(b), left)
		return
	case token.EQL, token.NEQ:
		x.flip(b, relation, x.text(b), left+" "+relations[b.Op]+" "+right)
		return
	}
	if to, ok := boundaries[b.Op]; ok {
		x.instead(b, boundary, left+" "+to+" "+right)
		x.instead(b, relation, left+" "+relations[b.Op]+" "+right)
		return
	}
	if !x.pure(b) {
		return
	}
	if b.Op == token.ADD || b.Op == token.SUB || b.Op == token.OR {
		x.pick(b, term, left)
	}
	if to, ok := arithmetic[b.Op]; ok && x.number(b) && !(b.Op == token.MUL) {
		x.pick(b, relation, left+" "+to+" "+right)
	}
	if b.Op == token.ADD || b.Op == token.OR {
		x.pick(b, term, right)
	}
}

func (x *finder) number(e ast.Expr) bool {
	b, ok := x.info.Types[e].Type.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// pick takes another value without side effects in place of an expression.
func (x *finder) pick(e ast.Expr, operator, new string) {
	typ, ok := x.typeText(x.info.Types[e].Type)
	if !ok {
		return
	}
	x.add(e, operator, x.text(e), new, x.edit(e, func(number int, text string) string {
		return fmt.Sprintf("mutantPick[%s](%d, %s, %s)", typ, number, new, text)
	}))
}

// constant changes the largest constant expression by one. It reports whether the parts of the expression are to be visited.
func (x *finder) constant(e ast.Expr) bool {
	tv := x.info.Types[e]
	if tv.Value == nil || tv.IsType() {
		return true
	}
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsInteger == 0 || basic.Info()&types.IsUntyped != 0 || tv.Value.Kind() != constant.Int {
		return false
	}
	if id, ok := e.(*ast.Ident); ok && id.Name == "_" {
		return false
	}
	if _, named := tv.Type.(*types.Named); named && !hasLiteral(e) {
		return false // a name of an enumeration
	}
	for _, by := range []int64{1, -1} {
		value := constant.BinaryOp(tv.Value, token.ADD, constant.MakeInt64(by))
		if basic.Info()&types.IsUnsigned != 0 && constant.Sign(value) < 0 {
			continue
		}
		x.pick(e, byOne, value.ExactString())
	}
	return false
}

func hasLiteral(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		_, literal := n.(*ast.BasicLit)
		found = found || literal
		return !found
	})
	return found
}

// commutes reports whether the first two arguments of a call may change places: of sums, products, and comparisons for equality.
func (x *finder) commutes(c *ast.CallExpr, name string) bool {
	return slices.Contains([]string{"Equal", "EqualFunc", "DeepEqual", "EqualFold", "Mul64", "Distance", "times"}, name) ||
		strings.HasPrefix(strings.ToLower(x.text(c.Fun)), "same") || strings.HasPrefix(name, "equal") || x.text(c.Fun) == "resources.Add"
}

func (x *finder) call(c *ast.CallExpr) {
	name := ""
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	if x.info.Types[c.Fun].IsBuiltin() && name == "make" || name == "Grow" {
		for _, a := range c.Args[min(1, len(c.Args)):] { // a length that matters is noticed at once, a capacity never
			x.skip[a] = true
		}
	}
	if x.info.Types[c.Fun].IsType() || x.info.Types[c.Fun].IsBuiltin() || x.commutes(c, name) {
		return
	}
	for k := 1; k < len(c.Args); k++ {
		a, b := c.Args[k-1], c.Args[k]
		ta, tb := x.info.Types[a], x.info.Types[b]
		if ta.Type == nil || tb.Type == nil || !types.Identical(ta.Type, tb.Type) || ta.IsType() || c.Ellipsis.IsValid() && k == len(c.Args)-1 ||
			x.text(a) == x.text(b) || !x.pure(a) || !x.pure(b) {
			continue
		}
		typ, ok := x.typeText(ta.Type)
		if !ok {
			continue
		}
		other := func(e ast.Expr) func(int, string) string {
			return func(number int, text string) string {
				return fmt.Sprintf("mutantPick[%s](%d, %s, %s)", typ, number, x.text(e), text)
			}
		}
		x.add(c, swap, name+"("+x.text(a)+", "+x.text(b)+")", name+"("+x.text(b)+", "+x.text(a)+")", x.edit(a, other(b)), x.edit(b, other(a)))
	}
}

// pure reports whether an expression can be evaluated twice.
func (x *finder) pure(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			tv := x.info.Types[n.Fun]
			id, _ := n.Fun.(*ast.Ident)
			ok = ok && (tv.IsType() || tv.IsBuiltin() && id != nil && slices.Contains([]string{"len", "cap", "min", "max"}, id.Name))
		case *ast.FuncLit, *ast.CompositeLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		}
		return ok
	})
	return ok
}

func (x *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
			x.drop(s)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && !blank(s.Lhs) && !x.room(s.Rhs) {
				x.drop(s)
			}
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
				x.drop(s)
			}
		case *ast.ReturnStmt:
			x.results(s)
		}
	}
}

func blank(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(e ast.Expr) bool { id, ok := e.(*ast.Ident); return !ok || id.Name != "_" })
}

// room reports whether the values are an empty slice with room for elements.
func (x *finder) room(list []ast.Expr) bool {
	c, ok := list[0].(*ast.CallExpr)
	if !ok || len(list) > 1 {
		return false
	}
	switch x.text(c.Fun) {
	case "slices.Grow":
		return true
	case "make":
		return len(c.Args) == 3 && x.text(c.Args[1]) == "0"
	}
	return false
}

func (x *finder) drop(s ast.Stmt) {
	x.add(s, deletion, x.text(s), "", x.edit(s, func(number int, text string) string {
		return fmt.Sprintf("if !mutantOn(%d) { %s }", number, text)
	}))
}

// results changes the results of a return statement one by one: a condition the other way round, nil for a pointer, slice,
// map or interface.
func (x *finder) results(s *ast.ReturnStmt) {
	if k := len(s.Results) - 1; k > 0 && x.failure(s.Results[k]) {
		x.beside(s)
	}
	if len(s.Results) == 0 {
		x.drop(s)
		return
	}
	for k, e := range s.Results {
		tv := x.info.Types[e]
		if tv.Type == nil || tv.IsNil() || x.skip[e] {
			continue
		}
		new := ""
		switch t := tv.Type.Underlying().(type) {
		case *types.Basic:
			if t.Info()&types.IsBoolean != 0 {
				new = "!(" + x.text(e) + ")"
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Interface:
			if _, parameter := tv.Type.(*types.TypeParam); !parameter {
				new = "nil"
			}
		}
		if new == "" {
			continue
		}
		texts := make([]string, len(s.Results))
		for i, r := range s.Results {
			texts[i] = x.text(r)
		}
		texts[k] = new
		changed := "return " + strings.Join(texts, ", ")
		x.add(s, result, x.text(s), changed, x.edit(s, func(number int, text string) string {
			return fmt.Sprintf("if mutantOn(%d) { %s }; %s", number, changed, text)
		}))
	}
}

// typeText returns a type as the file would write it, false when the file cannot.
func (x *finder) typeText(t types.Type) (string, bool) {
	ok := true
	text := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == x.folder {
			return ""
		}
		for _, i := range x.file.tree.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() {
				if i.Name != nil {
					return i.Name.Name
				}
				return p.Name()
			}
		}
		ok = false
		return ""
	})
	return text, ok && !strings.Contains(text, "untyped")
}
