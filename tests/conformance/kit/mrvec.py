"""Shared helpers of the conformance kit: context recipes, the tie-aware reading of draft trees, file parsing."""
import gzip,heapq,json,os,struct,zlib,hashlib,base64
import numpy as np
ROOT=os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),'data')   # tests/data
_c=None
def corpus():
    global _c
    if _c is None: _c=np.frombuffer(gzip.open(os.path.join(ROOT,'corpus/corpus.u16.gz')).read(),'<u2').astype(int)
    return _c
def resolve(parts,sessions=None):
    """[{t:[..]}|{s:[sid,a,b]}|{c:[start,len]}] -> tokens"""
    out=[]
    for p in parts:
        if 't' in p: out+=p['t']
        elif 's' in p: out+=sessions[p['s'][0]][p['s'][1]:p['s'][2]]
        else: out+=corpus()[p['c'][0]:p['c'][0]+p['c'][1]].tolist()
    return out
def parse(path):
    """records of a file: [(kind,payload)], tail length that is no whole record"""
    b=open(path,'rb').read(); o=8; R=[]
    assert b[:8]==b'MRAIL\x03\0\0'
    while o+5<=len(b):
        k,n=struct.unpack_from('<BI',b,o)
        if o+5+n>len(b): break
        R.append((k,b[o+5:o+5+n])); o+=5+n
    return R,len(b)-o
def describe(path):
    """records in a form free of the zlib implementation: anchors by decompressed content and parsed JSON"""
    R,tail=parse(path); out=[]
    for k,p in R:
        if k in (2,4):
            h=16 if k==2 else 24; (jl,)=struct.unpack_from('<I',p,h); js=json.loads(p[h+4:h+4+jl]); raw=p[h+4+jl:]
            raw=zlib.decompress(raw) if js.get('z') else raw
            out.append([k,p[:h].hex(),js,hashlib.sha256(raw).hexdigest()])
        else: out.append([k,len(p),hashlib.sha256(p).hexdigest()])
    return out,tail
def read_sessions(path):
    R,_=parse(path); S=[]
    for k,p in R:
        if k==1:
            n=struct.unpack_from('<I',p,4)[0]; S.append(np.frombuffer(p,'<u4',n,12).tolist())
        elif k==5: S.append(None)
    return S
def b64(a): return base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()
def unb64(s,dt,shape): return np.frombuffer(base64.b64decode(s),dtype=dt).reshape(shape).copy()

def build_trie(rail,ctx,state=None):
    """the weights of the draft trie, written again from the description (float64, same order of additions)"""
    log=rail.log; L=len(log); root={}
    def ins(start,w):
        node,decay=root,1.0
        for t in log[start:start+rail.depth]:
            e=node.get(t)
            if e is None: e=node[t]=[0.0,{}]
            e[0]+=w*decay; node=e[1]; decay*=0.92
    if state is not None:
        full,coarse=rail._hash(state)
        for lv,key,w in ((0,full,rail.state_w),(1,coarse,rail.state_w/8)):
            used=0
            for pos in reversed(rail.sidx[lv].get(key,[])):
                if pos>=L or log[pos]!=ctx[-1]: continue
                ins(pos+1,w); used+=1
                if used>=rail.max_entries: break
    for n in range(min(rail.nmax,len(ctx)),0,-1):
        used=0
        for pos in reversed(rail.idx[n].get(tuple(ctx[-n:]),[])):
            if pos>=L: continue
            ins(pos,4.0**n*(1.0+pos/max(L,1))); used+=1
            if used>=rail.max_entries: break
    return root
def tree_groups(rail,ctx,budget,state=None):
    """-> tokens, paths, groups: [[i,j,alternatives]] where out[i:j] have equal weight and token.
    alternatives: all paths of the group (more than j-i when the budget cuts the group)."""
    root=build_trie(rail,ctx,state); heap=[]; c=0
    def push(ch,path):
        nonlocal c
        for t,e in ch.items(): heapq.heappush(heap,(-e[0],t,c,path+(t,),e[1])); c+=1
    push(root,())
    out=[];groups=[];near=0
    gap=1.0
    while heap and len(out)<budget:
        g=[heapq.heappop(heap)]
        while heap and heap[0][:2]==g[0][:2]: g.append(heapq.heappop(heap))
        if heap: gap=min(gap,abs(heap[0][0]-g[0][0])/abs(g[0][0]) if heap[0][0]!=g[0][0] else 1.0)
        i=len(out); take=g[:budget-i]; out+=[x[3] for x in take]
        if len(g)>1: groups.append([i,i+len(take),[list(x[3]) for x in g]])
        for x in take: push(x[4],x[3])
    return [p[-1] for p in out],out,groups,gap
def paths_of(tree):
    ps=[]
    for t,p in tree: ps.append((ps[p] if p>=0 else ())+(t,))
    return ps
def tree_equal(got,want,groups):
    """got/want: [[t,parent]..]; equal up to the order inside groups of equal (weight, token)"""
    if [g[0] for g in got]!=[w[0] for w in want]: return False,'tokens'
    for i,(t,p) in enumerate(got):
        if not(-1<=p<i): return False,f'parent of {i}'
    gp,wp=paths_of(got),paths_of(want); free=set()
    if len(set(gp))!=len(gp): return False,'a path twice'
    for i,j,alt in groups:
        free|=set(range(i,j)); A={tuple(a) for a in alt}
        if not set(gp[i:j])<=A: return False,f'group {i}:{j}'
    cut=[set(map(tuple,a)) for i,j,a in groups if j-i<len(a)]
    for i in range(len(gp)):
        if i not in free and gp[i]!=wp[i]: return False,f'path {i}'
    return True,''
