"""python better.py 'driver': behaviour that the reference gets wrong; a sound implementation should pass all, the
reference fails most. Each line names the number of the bug. Every output file must still be a valid v3 file (checked with a plain parser)."""
import sys,os,json,subprocess,tempfile,shutil,struct,base64,hashlib
import numpy as np
import mrvec as V
CMD=sys.argv[1]; W=tempfile.mkdtemp(); MAG=b'MRAIL\x03\0\0'; res=[]
class Drv:
    def __init__(s): s.p=subprocess.Popen(CMD,shell=True,stdin=subprocess.PIPE,stdout=subprocess.PIPE,stderr=subprocess.DEVNULL,text=True,bufsize=1)
    def __call__(s,**q):
        s.p.stdin.write(json.dumps(q)+'\n'); s.p.stdin.flush(); l=s.p.stdout.readline(); return json.loads(l) if l else {'ok':False,'error':'driver died'}
    def end(s): s.p.stdin.close(); s.p.wait()
d=Drv(); n=0
def P():
    global n; n+=1; return f'{W}/{n}.mrail'
def test(bug,title,f):
    try: r=f()
    except Exception as e: r=f'{type(e).__name__}: {e}'
    res.append(r is True); print(('pass ' if r is True else 'FAIL ')+f'[bug {bug}] {title}'+('' if r is True else f'  -> {str(r)[:140]}'))
def rec(k,b): return struct.pack('<BI',k,len(b))+b
def sess(t,g,sid=0): return rec(1,struct.pack('<III',sid,len(t),g)+np.asarray(t,'<u4').tobytes())
A=sess(list(range(10)),1); B=sess(list(range(100,200)),1,1)
def arr(a): return {'dtype':str(a.dtype),'shape':list(a.shape),'b64':V.b64(a)}
def sha(a): return hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()
H=lambda i:struct.pack('<Q',i).hex()
def torn_append():
    bad=[]
    for cut in list(range(1,24))+[40,398,400,405,406,408]:
        p=P(); open(p,'wb').write(MAG+A+B[:len(B)-min(cut,len(B)-1)]); d(op='open',path=p); d(op='add_session',tokens=[500,501,502],gen=1); d(op='add_session',tokens=[600,601,602],gen=1); d(op='open',path=p)
        if d(op='exact',ctx=[600],max_new=9).get('answer')!=[601,602] or d(op='exact',ctx=[500],max_new=9).get('answer')!=[501,502] or d(op='stats').get('runs')!=3: bad.append(cut)
        if V.parse(p)[1]!=0: bad.append(('tail',cut))
    return not bad or bad
test(5,'append after a torn tail keeps every later run',torn_append)
def torn_read_only():
    p=P(); b=MAG+A+B[:-9]; open(p,'wb').write(b); d(op='open',path=p); d(op='locate',ctx=[1]); return open(p,'rb').read()==b or 'file changed by reading'
test(5,'opening a torn file for reading alone does not change it (optional)',torn_read_only)
def foreign_torn():
    p,q=P(),P(); open(p,'wb').write(MAG+A+B[:-9]); r=d(op='open',path=q,extra=[[p,None]]); return r.get('runs')==1 or r
test(3,'foreign map with a torn tail loads its complete runs',foreign_torn)
def bad_add():
    out=[]
    for t,g in (([1,-1,3],1),([1,2**32,3],1),([1,2,3],-1),([1,2,3],2**32)):
        p=P(); d(op='open',path=p); r=d(op='add_session',tokens=t,gen=g); s=d(op='stats'); e=d(op='add_session',tokens=[7,8,9],gen=1); x=struct.unpack_from('<I',V.parse(p)[0][-1][1],0)[0] if r['ok'] is False else None
        if r['ok'] or s.get('runs')!=0 or e.get('sid')!=0 or x!=0: out.append((t,g,r,s.get('runs'),e.get('sid')))
    return not out or out
test(13,'a refused add_session leaves no run behind',bad_add)
def neg0():
    p=P(); d(op='open',path=p); a=np.zeros((1,2,4),np.float32); b=a.copy(); b[0,0]=-0.0
    d(op='add_anchor',sid=0,P=1,hash=H(1),parent=None,layers=[[['_root_keys',arr(a)]]]); d(op='add_anchor',sid=0,P=2,hash=H(2),parent=H(1),layers=[[['_root_keys',arr(b)]]]); d(op='open',path=p); return d(op='get_layers',hash=H(2)).get('sha')==[{'_root_keys':sha(b)}] or 'sign of zero lost'
test(14,'a delta keeps -0.0 against 0.0',neg0)
def nanrow():
    p=P(); d(op='open',path=p); a=np.zeros((1,64,64),np.float32); a[0,:]=np.nan; 
    d(op='add_anchor',sid=0,P=1,hash=H(1),parent=None,layers=[[['_root_keys',arr(a)]]]); d(op='add_anchor',sid=0,P=2,hash=H(2),parent=H(1),layers=[[['_root_keys',arr(a)]]]); import zlib; k,pl=V.parse(p)[0][-1]; jl=struct.unpack_from('<I',pl,24)[0]; raw=pl[28+jl:]; raw=zlib.decompress(raw); return (k==4 and len(raw)==8) or f'kind {k}, {len(raw)} bytes for no change'
test(14,'unchanged NaN rows are not stored again (size only)',nanrow)
def shapes():
    p=P(); d(op='open',path=p); f=lambda s,v=0,t=np.float32: np.full(s,v,t); out=[]
    d(op='add_anchor',sid=0,P=1,hash=H(1),parent=None,layers=[[['_root_keys',arr(f((1,1,4)))]]])
    for i,a in enumerate((f((1,16,4),2),f((1,1,4),0,np.float16),f((2,2),1),f((1,1,1,4),3))):
        h=H(10+i); r=d(op='add_anchor',sid=0,P=2,hash=h,parent=H(1),layers=[[['_root_keys',arr(a)]]]); d(op='open',path=p)
        g=d(op='get_layers',hash=h)
        if not(r['ok'] and g.get('sha')==[{'_root_keys':sha(a)}] or not r['ok'] and not g['ok']): out.append((a.shape,str(a.dtype),r['ok'],str(g)[:60]))
    h=H(20); r=d(op='add_anchor',sid=0,P=2,hash=h,parent=H(1),layers=[[['_root_keys',arr(f((1,1,4),5))]]]*2); d(op='open',path=p); g=d(op='get_layers',hash=h)
    if not(r['ok'] and len(g.get('sha',[]))==2 or not r['ok'] and not g['ok']): out.append(('layers',r['ok'],str(g)[:60]))
    return not out or out
test('17/18','a state of other shape/dtype/rank/layer count than its parent is stored full or refused, never unreadable',shapes)
def long_ops():
    out=[]
    for ctx,ans in (([1]*10,list(range(2,70002))),(list(range(70000)),list(range(70000)))):
        p=P(); d(op='open',path=p); r=d(op='add_track',ctx=ctx,answer=ans); d(op='open',path=p); a=d(op='exact',ctx=ctx,max_new=10**6,stop=[]).get('answer')
        if not(r['ok'] and a==ans): out.append((len(ans),r.get('error','')[:60],a and len(a)))
    return not out or out
test(10,'answers with literal runs / copies longer than 65535 are split',long_ops)
def long_src():
    p=P(); d(op='open',path=p); r=d(op='add_track',ctx=[1,2,3,4],answer=[3],src='x'*65536); s=d(op='stats'); return (not r['ok'] and s.get('runs')==0) or (r['ok'],s.get('runs'))
test(10,'a src of 65536 bytes is refused without a ghost track',long_src)
def short_ctx():
    r=d(op='encode_copy',ans=[5,6,7,8],ctx=[5,6],min_copy=4); return r.get('ops')==[[0,[5,6,7,8]]] or r
test(11,'copy coding against a context of 2 tokens',short_ctx)
def badhash():
    p=P(); d(op='open',path=p); d(op='add_session',tokens=[1,2,3],gen=1); r=d(op='bump',hash='61626364',hits=1); q=d(op='add_anchor',sid=0,P=1,hash='6162636465',parent=None,layers=[[['_x',arr(np.zeros(2))]]]); o=d(op='open',path=p); return (not r['ok'] and not q['ok'] and o['ok']) or (r['ok'],q['ok'],o)
test('43/44','hashes that are not 8 bytes are refused',badhash)
def small():
    p=P(); open(p,'wb').write(b'hello'); r=d(op='open',path=p); return (not r['ok'] and open(p,'rb').read()==b'hello') or open(p,'rb').read()
test(20,'a small file that is no map is not overwritten',small)
def empty_stays():
    p=P(); open(p,'wb').write(MAG); i=os.stat(p); d(op='open',path=p); j=os.stat(p); return i.st_mtime_ns==j.st_mtime_ns or 'empty map rewritten at opening'
test(46,'opening an empty map does not rewrite it',empty_stays)
def malformed():
    out=[]
    for nm,b in (('short session count',rec(1,struct.pack('<III',0,6,1)+struct.pack('<II',1,2))),('session 0 bytes',rec(1,b'')),('session count 2^31',rec(1,struct.pack('<III',0,2**31,1))),('anchor 0 bytes',rec(2,b'')),('delta 3 bytes',rec(4,b'abc')),('use 3 bytes',rec(3,b'abc')),('track 3 bytes',rec(5,b'abc')),('track n_ops',rec(5,struct.pack('<I',3)+b'h'*8+struct.pack('<HI',0,9))),('track src not utf8',rec(5,struct.pack('<I',3)+b'h'*8+struct.pack('<H',1)+b'\xff'+struct.pack('<I',0))),('track n_ops 2^32-1',rec(5,struct.pack('<I',3)+b'h'*8+struct.pack('<HI',0,2**32-1)))):
        p=P(); open(p,'wb').write(MAG+A+b+B); r=d(op='open',path=p); a=d(op='exact',ctx=[100],max_new=2).get('answer') if r['ok'] else None
        if r['ok'] and a!=[101,102] or not r['ok'] and 'died' in r.get('error',''): out.append((nm,r.get('error','')[:50],a))
        elif not r['ok']: out.append((nm,'map refused',r.get('error','')[:40]))
    return not out or out
test('22/55','a malformed record is skipped or reported, the other runs stay usable',malformed)
def missing_parent():
    p=P(); d(op='open',path=p); L=lambda v:[[['_root_keys',arr(np.full((1,4,2),v,np.float32))]]]
    d(op='add_anchor',sid=0,P=1,hash=H(1),parent=None,layers=L(0)); d(op='add_anchor',sid=0,P=2,hash=H(2),parent=H(1),layers=L(1)); b=open(p,'rb').read(); R,_=V.parse(p); k,pl=R[1]; out=[]
    for nm,body in (('missing',rec(k,pl)),('self',rec(k,pl[:16]+pl[8:16]+pl[24:])),('cycle',rec(k,pl)+rec(k,pl[:8]+bytes.fromhex(H(1))+bytes.fromhex(H(2))+pl[24:]))):
        q=P(); open(q,'wb').write(MAG+body); d(op='open',path=q); g=d(op='get_layers',hash=H(2)); s=d(op='stats')
        if g['ok'] or 'died' in g.get('error','') or not s['ok'] or 'Recursion' in g.get('error',''): out.append((nm,str(g)[:80]))
    return not out or out
test(24,'missing parent / parent cycle is an error, not a crash',missing_parent)
def concurrent():
    p=P(); D=[Drv() for _ in range(3)]; open(p,'wb').write(MAG); rs=[x(op='open',path=p) for x in D]
    import threading
    def go(k):
        for i in range(40):
            D[k](op='add_session',tokens=[k+1]*4000+[i],gen=1); h=struct.pack('<II',k+1,i).hex(); a=np.random.default_rng(k*1000+i).integers(0,2**31,30000); D[k](op='add_anchor',sid=0,P=1,hash=h,parent=None,layers=[[['_x',arr(a)]]])
    t=[threading.Thread(target=go,args=(k,)) for k in range(3) if rs[k]['ok']]; [x.start() for x in t]; [x.join() for x in t]; [x.end() for x in D]; w=len(t)
    r=d(op='open',path=p,stride=4096,rail_prompts=False); s=d(op='stats'); good=0
    for k in range(3):
        for i in range(40):
            g=d(op='get_layers',hash=struct.pack('<II',k+1,i).hex()); good+=g['ok'] and g['sha'][0]['_x']==sha(np.random.default_rng(k*1000+i).integers(0,2**31,30000))
    return (s.get('runs')==40*w and good==40*w) or f'{w} writers admitted, runs {s.get("runs")}, anchors readable {good} of {40*w}'
test(6,'three writers on one map: nothing lost (or a second writer is refused)',concurrent)
print(sum(res),'of',len(res)); d.end(); shutil.rmtree(W)
